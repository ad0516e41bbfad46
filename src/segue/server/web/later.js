// Elements that the first screen does not need, loaded after it. Each upgrades in place when it arrives.

export { reveal } from "./lib/reveal.js";
import "./elements/segue-calendar.js";
import "./elements/segue-delete.js";
import "./elements/segue-files.js";
import "./elements/segue-held.js";
import "./elements/segue-hint.js";
import "./elements/segue-login.js";
import "./elements/segue-moon.js";
import "./elements/segue-palette.js";
import "./elements/segue-panel.js";
import "./elements/segue-parts.js";
import "./elements/segue-reply.js";
import "./elements/segue-rewrite.js";
import "./elements/segue-search.js";
import "./elements/segue-settings.js";
import "./elements/segue-to.js";
import "./elements/segue-versions.js";
