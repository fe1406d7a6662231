"""Faults that no test can notice, or that make nothing less private or less right; each with its reason."""

BRACKET = "a bisection starts from a wider bracket and ends at the same place"
BOUNDARY = "only a count of exactly 2^24 candidates is treated otherwise, and both ways to draw are exact"

EQUIVALENT: dict[str, str] = {
    "dpselect/assume/lemmas/gaussian_price.py: low, high = high, 2 * high [one more]": BRACKET,
    "dpselect/assume/models/vote_rule.py: BYTES_FOR_SUMS = 400_000_000 [one more]": "one byte more of memory, no other blocks",
    'dpselect/assume/models/recipe.py: if models.count <= LISTED_AT_MOST or mechanism == "exponential": [LtE -> Lt]': BOUNDARY,
    "dpselect/release/select.py: if recipe.candidates.count <= LISTED_AT_MOST: [LtE -> Lt]": BOUNDARY,
    (
        'dpselect/assume/models/budget.py: if not 0 <= delta < Decimal("0.5") or (positive and not delta >= Decimal("1e-100")): '
        "[GtE -> Gt]"
    ): "a delta of exactly 1e-100 is refused; no proof rests on the limit, which keeps numbers printable",
}
