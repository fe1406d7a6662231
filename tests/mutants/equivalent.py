"""Faults that no test can notice, or that make nothing less private or less right; each with its reason."""

BRACKET = "a bisection starts from a wider bracket and ends at the same place"
LAST_BIT = "a bisection does one step more where the bracket is exactly as narrow as asked, and returns its lower end all the same"
BALL = (
    "d + 2 roundings must fit, by the sum, the product, the division and the shrinking; room for 2d + 4 holds them too"
)
FINER = "a digit or a bit more to begin with; a draw goes on until it is certain, and is exact with any number of them"
ASKED = "a coin at the very end of the room is asked for its digits, which decide the same"
FEW_BLOCKS = "room for no block, for one or for two: there is one block and there are two partitions either way"
AT_A_TIME = "how much is read or added up at a time: more memory or less, and the same sums"
TOLERANCE = "half of a tolerance that is far wider than any rounding, and far narrower than any edit that matters"
QUARTILE = "a hundredth or two more of one part of what 56 tables gave for lengths to expect: they are known to a tenth at best"
NEGATIVE = "what is no number becomes one below 0, whichever, and is refused"

EQUIVALENT: dict[str, str] = {
    "dpselect/assume/lemmas/rounds.py: low, high = high, 2 * high [one more] at 18": BRACKET,
    "dpselect/assume/lemmas/rounds.py: while high - low > 2.0**-45 * high and high > 1e-300: [Gt -> GtE] at 6": LAST_BIT,
    (
        "dpselect/assume/lemmas/rounds.py: low, high = (middle, high) if gaussian_delta(middle, epsilon) <= delta "
        "else (low, middle) [LtE -> Lt] at 30"
    ): "where a middle has exactly this delta it becomes the upper end, and the lower end comes as near to it as to any other",
    (
        "dpselect/assume/lemmas/moments.py: has_constant = any(column.name == INTERCEPT and not column.factors for column "
        "in chosen) [and <-> or] at 19"
    ): "the intercept is the only column without factors, and no predictor may have its name",
    (
        "dpselect/assume/lemmas/moments.py: bits = 62 - MAXIMUM_ROWS.bit_length() - (largest + 1).bit_length() "
        "[one more] at 7"
    ): "one bit finer; 2^32 rows of weights below largest + 1 still stay below 2^62, as the docstring claims",
    "dpselect/assume/candidates.py: if rule.max_size is None or rule.max_size <= len(columns): [LtE -> Lt] at 28": (
        "a largest size of all columns is replaced by the number of all columns, which it is"
    ),
    "dpselect/assume/candidates.py: MAX_TOGETHER = 2**16 [half the number] at 18": (
        "how many sets are held in memory before a study is refused in words; the limit itself is in a test"
    ),
    (
        "dpselect/assume/edge_rule.py: sums = (columns + 2) * (columns + 3) // 2 + columns + 1  # products of (1, x, y), and cubes "
        "[one more] at 40"
    ): "a few bytes more are counted for the memory of a block",
    (
        "dpselect/assume/edge_rule.py: higher = 1 + 0.12 * min(max(math.log(rows / 1000) / math.log(5), 0.0), 1.0) "
        "[one more] at 61"
    ): "a bar that is higher from 1,001 rows on, not from 1,000: by less than a ten-thousandth",
    "dpselect/assume/vote_rule.py: BYTES_FOR_SUMS = 400_000_000 [one more] at 17": "a byte more of memory, no other blocks",
    (
        "dpselect/assume/vote_rule.py: room = max(BYTES_FOR_SUMS // (BYTES_A_SUM * sums), 1) [one more] at 51"
    ): FEW_BLOCKS,
    (
        "dpselect/assume/vote_rule.py: room = max(BYTES_FOR_SUMS // (BYTES_A_SUM * sums), 1) [half the number] at 51"
    ): FEW_BLOCKS,
    (
        'dpselect/assume/budget.py: if not 0 <= delta < Decimal("0.5") or (positive and not delta >= Decimal("1e-100")): '
        "[GtE -> Gt] at 56"
    ): "a delta of exactly 1e-100 is refused; no proof rests on the limit, which keeps numbers printable",
    (
        "dpselect/minimize/losses/certificate.py: room = 1.0 - (2 * coefficients.shape[-1] + 8) * 2.0**-53 [half the number] at 43"
    ): BALL,
    "dpselect/minimize/losses/certificate.py: room = 1.0 - (2 * coefficients.shape[-1] + 8) * 2.0**-53 [one more] at 43": BALL,
    (
        "dpselect/minimize/losses/lattice_certificate.py: norm = absolute.sum(axis=-1) * (1 + 2 * width * ROUNDING_UNIT) "
        "[half the number] at 36"
    ): "a sum of `width` terms is off by less than `width` roundings; twice as many are allowed for",
    (
        "dpselect/minimize/losses/lattice_certificate.py: return (operations * ROUNDING_UNIT / (1 - operations * ROUNDING_UNIT) "
        "+ 2 * error) * ROUND_UP [Sub -> Add] at 38"
    ): "a relative difference below 2^-45 for all widths that a lattice can have; ROUND_UP adds 2^-40",
    (
        "dpselect/minimize/losses/exact.py: if not (rate > 0 and start < 0): [Gt -> GtE] at 8"
    ): "a condition that does not move with theta holds on the whole piece, so that its start is never below 0",
    (
        "dpselect/randomize/choice.py: if not epsilon > 2 * LAPLACE_ROUNDING: [Gt -> GtE] at 7"
    ): "an epsilon of exactly 2^-40 is let through; half of it is for the rounding and the other half prices the noise",
    (
        "dpselect/release/ledger/accounting.py: yield epsilon + guess(rho, delta - used), epsilon, rho, delta - used "
        "[Add -> Sub] at 6"
    ): "plans are converted in another order and none is left out; the least is taken all the same, later",
    "dpselect/release/ledger/accounting.py: number = Fraction(-1) [one more] at 19": NEGATIVE,
    (
        "dpselect/release/ledger/accounting.py: number = Fraction(written) if small or not written else Fraction(-1) "
        "[one more] at 66"
    ): NEGATIVE,
    (
        "dpselect/release/ledger/accounting.py: if bound is None or not bound <= Fraction(charge.epsilon) or not delta < 1: "
        "[LtE -> Lt] at 24"
    ): "where the bound has all of epsilon its formula gives no less than `plain`, of which the minimum is taken",
    (
        "dpselect/release/ledger/accounting.py: low, high, golden = -30.0, 60.0, (math.sqrt(5) - 1) / 2 [one more] at 44"
    ): "a search that narrows by another factor; no price rests on the guess, which only orders the plans",
    (
        "dpselect/release/ledger/entries.py: return number.quantize(Decimal(1), context=_EXACT) if number == "
        "number.to_integral_value() else number [one more] at 31"
    ): "only the exponent of that decimal is used, and 2 has the same as 1",
    "dpselect/release/account.py: stacklevel=4, [half the number] at 11": "only the line of code that a warning names",
    (
        'dpselect/release/ledger/sqlite.py: raise AssertionError("the attempts end with a return or an error")  '
        "# pragma: no cover [no refusal] at 0"
    ): "never reached: the attempts end with a return or an error",
    "dpselect/randomize/opendp_door.py: LEAST_SCALE = 2.0**-900 [one more] at 20": "a width that is no noise at all, or half of it",
    (
        "dpselect/gather/block_numpy.py: shift = np.repeat(_SHIFTS[own_tops.astype(np.int64) - LOWEST] * 2.0 ** (-32 * s), "
        "lengths, axis=0) [Sub -> Add] at 26"
    ): "48 places from -48 on are, counted from the end, the same as those from 0 on",
    "dpselect/gather/block_numpy.py: some = max(1, PRODUCTS // len(left)) [FloorDiv -> Mult] at 14": AT_A_TIME,
    "dpselect/gather/moments.py: self._chunks += 1 [one more] at 16": AT_A_TIME,
    (
        "dpselect/gather/saved.py: values = json.loads(text) if len(text) <= most else None [LtE -> Lt] at 29"
    ): "no file of moments is as long as the limit, which is more than any has",
    (
        "dpselect/gather/sql.py: tiny = variable.half_width / (4 * GRID) [one more] at 30"
    ): "within half a step of the middle the formula gives 0 as well, which this only says without computing it",
    "dpselect/gather/sources/arrays.py: MANY_COLUMNS = 128 [half the number] at 15": "the order of an array in memory",
    (
        'dpselect/gather/sources/databases.py: raise DataError("The query returns no table: give one SELECT.") [no refusal] at 0'
    ): "the next line refuses what is no table, in a sentence that says less",
    "dpselect/gather/sources/drivers.py: MAX_TEXT_BYTES = 4096 [half the number] at 17": "how long a text by ODBC may be",
    (
        'dpselect/gather/sources/excel.py: rows, columns, cells, rest = 1, 1, 0, b"" [one more] at 29'
    ): "a sheet of one row or column is far from being too large, counted as two as well",
    "dpselect/gather/sources/files.py: READ_BYTES = 1 << 18 [half the number] at 18": AT_A_TIME,
    "dpselect/gather/sources/stream.py: fitting = max(MAX_BATCH_CELLS // max(columns, 1), 1) [one more] at 46": AT_A_TIME,
    (
        "dpselect/report/figure.py: room = {anchor: ends for anchor, ends in places.items() if ends[0] >= 0 and ends[1] <= 1} "
        "[GtE -> Gt] at 59"
    ): "a number beside a bar that begins exactly at the edge of the figure stands on the other side",
    (
        "dpselect/report/figure.py: whole = value == round(value) and 1000 <= abs(value) < 1e9 [lower end open] at 34"
    ): "a whole number below 1,000 is written alike both ways",
    (
        "dpselect/report/form.py: MAX_TEXT_LENGTH = 64 * 2**20 [one more] at 23"
    ): "a mebibyte more of what is far too long for a report",
    (
        "dpselect/report/numbers.py: found = exact.quantize(Decimal(1).scaleb(place, _WIDE), way, _WIDE) [one more] at 31"
    ): "only the exponent of that decimal is used, and 2 has the same as 1",
    (
        "dpselect/report/phrases.py: odds = belief / (1 - belief) * math.exp(min(float(epsilon), 500.0)) [half the number] at 60"
    ): "beyond odds of e^250 a belief is 1 to the last digit, as it is beyond e^500",
    (
        "dpselect/report/selection_checks.py: return 2 * profile_change(largest, recipe.rows, sensitivity, "
        "as_printed=recipe.as_printed) * (1 - 1e-9) [half the number] at 98"
    ): TOLERANCE,
    (
        "dpselect/report/verify.py: return math.isclose(stated, found, rel_tol=1e-9, abs_tol=room) [half the number] at 43"
    ): TOLERANCE,
    (
        'dpselect/use/runs/check.py: ["coefficient", "chance that it is clear", "95% interval"], effect_rows(found.effects), '
        "numbers=(1,) [one more] at 97"
    ): "which column of a table stands to the right",
    (
        'dpselect/use/runs/plan.py: with sharing("Planning", quiet or as_json) as progress: [and <-> or] at 25'
    ): "progress is shown on a terminal alone, and beside the answer",
    (
        "dpselect/use/commands/studio.py: raise [no refusal] at 0"
    ): "a package of our own that is missing is called one that was not installed; the studio starts in neither case",
    "dpselect/use/methods.py: wanted: float = 0.8 [half the number] at 16": "a default that its only caller never leaves out",
    "dpselect/use/plan.py: WIDE_COLUMNS = 12 [one more] at 15": "from how many columns on a curve has fewer points",
    (
        "dpselect/use/plan.py: steps = STEPS if len(columns) <= WIDE_COLUMNS else STEPS[1:-1] [half the number] at 57"
    ): "one point more of a curve over wide tables",
    (
        "dpselect/use/spend.py: first = order.charges[:1] if gathered.recipe is None else (selection_charge(gathered.recipe),) "
        "[one more] at 23"
    ): "an order without a selection has one charge",
    (
        'dpselect/use/start.py: os.write(2, b"Stopped. Nothing was read or charged.\\n") [one more] at 9'
    ): "runs in programs of their own, where no fault is planted: tests/use/test_stops.py looks at what they print",
    "dpselect/randomize/digits.py: DIGITS = 40 [one more] at 9": FINER,
    "dpselect/randomize/coins.py: heads = tossed <= 2.0**BITS * (near - ROOM) - 1 [LtE -> Lt] at 8": ASKED,
    (
        "dpselect/randomize/coins.py: for place in np.flatnonzero(~heads & (tossed < 2.0**BITS * (near + ROOM))): "
        "[Lt -> LtE] at 38"
    ): ASKED,
    (
        'dpselect/assume/records.py: text = " ".join(str(problem).split())[:300].rstrip(".") [one more] at 39'
    ): "a message is cut a letter later",
    (
        "dpselect/release/rounds/histograms.py: low, high = max(low - wider[0], 0), min(high + wider[1], bins - 1) "
        "[half the number] at 64"
    ): "a window may end a bin after the last, where there is none: only a left side that is doubled after it is wider by one",
    (
        "dpselect/minimize/losses/lattice_certificate.py: bound = np.where(bound >= 0, bound, np.inf) [GtE -> Gt] at 17"
    ): "a loss with a bound of exactly 0 is computed anew in rational arithmetic, which finds the same",
    "dpselect/randomize/coins.py: ROOM = 2.0**-40 [half the number] at 13": "more coins are asked for their digits",
    "dpselect/assume/edge_rule.py: MAX_SETS = 6000 [one more] at 11": "no number of terms up to 16 has 6,001 sets up to a size",
    "dpselect/assume/edge_rule.py: for size in range(terms + 1): [one more] at 26": "no set has more terms than there are",
    "dpselect/assume/lemmas/rounds.py: while high - low > 2.0**-45 * high and high > 1e-300: [one more] at 25": (
        "a bisection does one step more, and returns its lower end all the same"
    ),
    "dpselect/penalize/second_look.py: for term in np.flatnonzero(stands[parent] > floor).tolist(): [Gt -> GtE] at 27": (
        "a term that stands by the floor alone makes a set that is worth no more, and is left out three lines on"
    ),
    "dpselect/penalize/second_look.py: if (worth > floor).any(): [Gt -> GtE] at 4": (
        "where no term is worth more than the floor no set is alive, whether that was looked at or not"
    ),
    (
        "dpselect/randomize/draw_classes.py: return np.where(words < np.uint64(2 ** (WORD_BITS - 1)), small, large) "
        "[Lt -> LtE] at 16"
    ): "at one half exactly both formulas are right in all digits",
    "dpselect/release/equations/descent.py: LONGEST_STEP = 2.0 [one more] at 15": (
        "how far one try of a descent may go; what does not gain is taken back, and it ends where no step gains"
    ),
    "dpselect/release/equations/descent.py: LEAST_GAIN = 1e-6 [half the number] at 13": (
        "a descent ends nearer to the lowest place, by less than any number that is printed"
    ),
    "dpselect/release/equations/findings.py: found = descend(function, starts, steps=60) [half the number] at 40": (
        "what has not arrived by 30 steps goes on in the next line, by as many as 40"
    ),
    "dpselect/release/equations/findings.py: starts = np.zeros((2, width)) [one more] at 19": (
        "a third start that is the first one again, of which the first is taken"
    ),
    "dpselect/release/equations/findings.py: shares = np.linspace(-1.0, 2.0, 3001) [half the number] at 22": (
        "a set that goes beyond -.5 is too long to be said, or lies below 0 as a whole and is not said either"
    ),
    "dpselect/release/equations/pivot.py: size = patterns.shape[1] [one more] at 22": "patterns are square",
    (
        "dpselect/release/equations/problem.py: clear = numbers & (squares > 2 * SQUARES_DOUBT * doubt)[:width] [Gt -> GtE] at 19"
    ): "noisy squares are never as many doubts to the last digit",
    (
        "dpselect/release/ledger/accounting.py: yield epsilon + guess(rho, delta - used), epsilon, rho, delta - used "
        "[Sub -> Add] at 27"
    ): "a guess that is too low: plans are converted in another order, some that need not be, and none is left out",
    (
        "dpselect/release/ledger/accounting.py: if not guessed - epsilon < room * (1 + 1e-6): [half the number] at 39"
    ): "a guess is its conversion to more digits than either tolerance has",
    (
        "dpselect/release/ledger/ledger.py: paid = [*naming[:1], *(each for each in naming[1:] if not each.sealed)] "
        "[half the number] at 47"
    ): "the first entry of a release is always sealed, so that it is left out of the others all the same",
    (
        "dpselect/release/rounds/clips.py: freedom = max(count - 1, 1.0) [one more] at 25"
    ): "of fewer clusters than 20 no interval is shown",
    "dpselect/release/rounds/drawing.py: MAX_ROUND_BYTES = 2**27 [half the number] at 18": AT_A_TIME,
    "dpselect/release/rounds/facts.py: LengthLaw(1.1, 60.0, 107.0, 1.0), [one more] at 28": QUARTILE,
    "dpselect/release/rounds/facts.py: LengthLaw(1.25, 60.0, 180.0, 0.65), [one more] at 16": QUARTILE,
}
