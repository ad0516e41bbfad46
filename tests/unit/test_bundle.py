"""The module bundler: which scripts are joined, in which order, and what becomes of imports and exports."""

from segue.server.bundle import bundle, modules_of

SCRIPTS = {
    "app.js": 'import { b } from "./lib/b.js";\nimport "./lib/c.js";\nb();\nimport("./later.js");\n',
    "lib/b.js": 'export { c } from "./c.js";\nimport {\n  d,\n} from "./c.js";\nexport function b() {}\n',
    "lib/c.js": "const own = 1;\nexport const c = own;\nexport class d {}\n",
    "later.js": 'import { c } from "./lib/c.js";\nimport { e } from "./lib/e.js";\ne(c);\n',
    "lib/e.js": 'export async function e() {\n  return import("../app.js");\n}\n',
}


def test_a_module_follows_what_it_imports() -> None:
    assert modules_of(SCRIPTS, "app.js") == ["lib/c.js", "lib/b.js", "app.js"]


def test_each_module_is_a_block_that_takes_its_imports_and_leaves_its_exports() -> None:
    assert bundle(SCRIPTS, "app.js") == (
        "export const modules = {};\n"
        '{\nconst own = 1;\nconst c = own;\nclass d {}\nmodules["lib/c.js"] = { c, d };\n}\n'
        '{\nconst { c } = modules["lib/c.js"];\nconst {\n  d,\n} = modules["lib/c.js"];\n'
        'function b() {}\nmodules["lib/b.js"] = { b, c };\n}\n'
        '{\nconst { b } = modules["lib/b.js"];\nb();\n'
        'import("./later.js").then(() => modules["later.js"]);\nmodules["app.js"] = {  };\n}\n'
    )


def test_a_second_bundle_uses_the_modules_of_the_first() -> None:
    joined = bundle(SCRIPTS, "later.js", beside="app.js")
    assert joined.startswith('import { modules } from "./app.js";\n')
    assert 'const { c } = modules["lib/c.js"];' in joined
    assert 'modules["lib/e.js"] = { e };' in joined
    assert "class d" not in joined
    assert 'import("./app.js").then(() => modules["app.js"])' in joined
