// What the first screen does without. Each element takes its place when it comes.

import "./elements/segue-delete.js";
import "./elements/segue-empty.js";
import "./elements/segue-future.js";
import "./elements/segue-hint.js";
import "./elements/segue-login.js";
import "./elements/segue-palette.js";
import "./elements/segue-panel.js";
import "./elements/segue-recall.js";
