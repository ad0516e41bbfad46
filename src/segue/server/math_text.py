"""Mathematics as text: TeX notation written with Unicode characters, `x^2 \\le \\frac{a}{b}` as `x² ≤ a/b`.

There is no layout. What has no character of its own is written in one line, as in a letter.
"""

import re

_LONGEST = 2_000
_MOST_PASSES = 8
"""How deep braces may be nested."""

_SIGNS_AND_NAMES = """
α alpha β beta γ gamma δ delta ε epsilon ζ zeta η eta θ theta ι iota κ kappa λ lambda μ mu ν nu ξ xi π pi
ρ rho σ sigma τ tau φ phi χ chi ψ psi ω omega Γ Gamma Δ Delta Θ Theta Λ Lambda Ξ Xi Π Pi Σ Sigma Φ Phi
Ψ Psi Ω Omega × times · cdot ÷ div ± pm ∓ mp ≤ le ≤ leq ≥ ge ≥ geq ≠ ne ≠ neq ≈ approx ≡ equiv ∼ sim
∝ propto ∞ infty ∑ sum ∏ prod ∫ int ∂ partial ∇ nabla ∈ in ∉ notin ⊂ subset ∪ cup ∩ cap ∅ emptyset
∀ forall ∃ exists ¬ neg ∧ land ∨ lor → to → rightarrow ← leftarrow ⇒ Rightarrow ⇐ Leftarrow ⇔ iff
… ldots … dots … cdots ° circ ° degree ∠ angle ⊥ perp ∥ parallel ≪ ll ≫ gg
"""
_SYMBOLS = dict(zip(_SIGNS_AND_NAMES.split()[1::2], _SIGNS_AND_NAMES.split()[::2], strict=True))
_RAISED = str.maketrans(
    "0123456789+-=()niabcdefghjklmoprstuvwxyz", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱᵃᵇᶜᵈᵉᶠᵍʰʲᵏˡᵐᵒᵖʳˢᵗᵘᵛʷˣʸᶻ"
)
_LOWERED = str.maketrans("0123456789+-=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")
_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]{0,400})\}\s*\{([^{}]{0,400})\}")
_ROOT = re.compile(r"\\sqrt\s*\{([^{}]{0,400})\}")
_PLAIN = re.compile(r"\\(?:text|mathrm|mathbf|mathit|mathbb|operatorname)\s*\{([^{}]{0,400})\}")
_SCRIPT = re.compile(r"([\^_])(?:\{([^{}]{0,400})\}|([A-Za-z0-9∞]))")
_SPACING = re.compile(r"\\(?:left|right|big|Big|displaystyle)(?![A-Za-z])|\\[,;:! ]")
_COMMAND = re.compile(r"\\([A-Za-z]{1,30})")


def as_text(tex: str) -> str:
    """Return the formula in one line of text."""
    text = _SPACING.sub(" ", tex[:_LONGEST]).replace("\\\\", "; ").replace("&", "")
    text = _COMMAND.sub(lambda found: _SYMBOLS.get(found[1], found[0]), text)
    for _ in range(_MOST_PASSES):
        before = text
        text = _PLAIN.sub(r"\1", text)
        text = _SCRIPT.sub(_script, text)
        text = _ROOT.sub(lambda found: f"√{_grouped(found[1])}", text)
        text = _FRACTION.sub(lambda found: f"{_grouped(found[1])}/{_grouped(found[2])}", text)
        if text == before:
            break
    text = _COMMAND.sub(r"\1", text).replace("{", "").replace("}", "")
    return " ".join(text.split())


def _grouped(part: str) -> str:
    part = part.strip()
    return part if re.fullmatch(r"[\w.]+|\(.*\)", part) else f"({part})"


def _script(found: re.Match[str]) -> str:
    mark, part = found[1], (found[2] if found[2] is not None else found[3]).strip()
    characters = _RAISED if mark == "^" else _LOWERED
    if all(ord(character) in characters for character in part):
        return part.translate(characters)
    return f"{mark}({part})" if len(part) > 1 else f"{mark}{part}"
