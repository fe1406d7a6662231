# The command does the work; R hands it a file and reads its JSON. Nothing here sees noise or the ledger.

#' The path of the command
#'
#' The environment variable DPSELECT, or the first `dpselect` on the path.
#' @return A path.
dp_command <- function() {
  found <- Sys.getenv("DPSELECT", unset = Sys.which("dpselect"))
  if (!nzchar(found)) {
    stop("The command dpselect was not found. Install it with 'pip install dpselect', or set DPSELECT to its path.",
         call. = FALSE)
  }
  found
}

# The arguments that state a study: a study file, or the response with its predictors and categories.
stated <- function(response, predictors, categories, study) {
  if (!is.null(study)) {
    return(c("--study", study))
  }
  if (is.null(response)) {
    stop("Give response, the variable to explain, or study, a study file.", call. = FALSE)
  }
  listed <- mapply(function(name, values) c("--categories", paste0(name, "=", in_line(values))),
                   names(categories), categories, SIMPLIFY = FALSE)
  considered <- union(predictors, setdiff(names(categories), response))
  c("--response", response,
    if (length(considered)) c("--predictors", in_line(considered)),
    unlist(listed, use.names = FALSE))
}

# Names as the command reads them, as in a line of a CSV file: one may hold a comma.
in_line <- function(names) {
  paste0("\"", gsub("\"", "\"\"", as.character(names), fixed = TRUE), "\"", collapse = ",")
}

# A data frame becomes a file that is removed afterwards; its ledger must be named, because the file is gone then.
# Types and levels of a frame come from its rows (one cell makes a level, or turns a number into text), so nothing is
# taken from them: a person names what is considered, and each cell is read by itself.
with_file <- function(data, response, predictors, categories, study, ledger, options, use) {
  if (!is.data.frame(data)) {
    return(use(data, stated(response, predictors, categories, study)))
  }
  if (is.null(ledger)) {
    stop("A data frame has no file for a ledger to stand beside. Name the ledger, such as ledger = \"people.budget.db\".",
         call. = FALSE)
  }
  if (is.null(study)) {
    if (!length(predictors) && !length(categories)) {
      stop("What a data frame holds is stated, not read from its rows. Name what is considered, such as ",
           "predictors = c(\"age\", \"school\"), and all categories of text, such as ",
           "categories = list(region = c(\"north\", \"south\")); or give a study file. Nothing was spent.", call. = FALSE)
    }
    asked <- unique(c(response, predictors, names(categories), unlist(options[c("person", "cluster", "weights")]),
                      sub("=.*", "", unlist(options["only"]))))
    unknown <- setdiff(asked, names(data))
    if (length(unknown)) {
      stop("The data frame has no column '", unknown[1], "'. Nothing was spent.", call. = FALSE)
    }
    data <- data[asked]
    numbers <- setdiff(c(response, predictors), names(categories))
    data[numbers] <- lapply(data[numbers], as_numbers)
  }
  file <- tempfile(fileext = ".csv")
  on.exit(unlink(file))
  write.csv(data, file, row.names = FALSE, na = "")
  use(file, stated(response, predictors, categories, study))
}

# A logical is 0 or 1, cell by cell, in each of the spellings that read.csv takes for one: so a cell stays what it is where
# another one has made the column text.
as_numbers <- function(column) {
  if (is.numeric(column)) {
    return(column)
  }
  text <- as.character(column)
  text[text %in% c("FALSE", "False", "false", "F")] <- "0"
  text[text %in% c("TRUE", "True", "true", "T")] <- "1"
  text
}

# Run the command and read its JSON; a refusal becomes an R error with the command's own words.
run <- function(arguments) {
  errors <- tempfile()
  on.exit(unlink(errors))
  out <- suppressWarnings(system2(dp_command(), shQuote(arguments), stdout = TRUE, stderr = errors))
  said <- paste(readLines(errors, warn = FALSE), collapse = "\n")
  status <- attr(out, "status")
  if (!is.null(status) && status != 0) {
    stop(if (nzchar(said)) said else "dpselect failed.", call. = FALSE)
  }
  if (nzchar(said)) message(said)
  fromJSON(paste(out, collapse = "\n"), simplifyVector = FALSE)
}

# Options of the command from named arguments: max_size = 3 becomes --max-size 3, TRUE a flag.
more <- function(...) {
  given <- list(...)
  if (!length(given)) {
    return(character())
  }
  unlist(mapply(function(name, value) {
    option <- paste0("--", gsub("_", "-", name))
    if (isTRUE(value)) option else c(option, as.character(value))
  }, names(given), given, SIMPLIFY = FALSE), use.names = FALSE)
}

#' Select the variables that explain an outcome
#'
#' Each call spends epsilon from the privacy budget of the data.
#' @param data A data frame, or the path or address of the data.
#' @param response The variable to explain.
#' @param epsilon The privacy cost: 1 is strong, 3 moderate.
#' @param predictors Variables to consider, those with categories aside. A data frame and a CSV file need them.
#' @param categories A named list with all categories of each text column or factor, from a code book.
#' @param study A study file, in place of response, predictors and categories.
#' @param ledger The ledger to charge; needed for a data frame.
#' @param ... Further options of the command, such as `total_epsilon = 2`.
#' @return A selection with `variables`, `directions`, `considered`, `epsilon` and `release`.
dp_select <- function(data, response = NULL, epsilon, predictors = NULL, categories = list(), study = NULL,
                      ledger = NULL, ...) {
  release <- with_file(data, response, predictors, categories, study, ledger, list(...), function(file, about) {
    run(c("select", file, about, "--epsilon", format(epsilon, digits = 15), "--yes", "--json",
          if (!is.null(ledger)) c("--ledger", ledger), more(...)))
  })
  structure(selection_parts(release), class = "dp_selection")
}

#' Select variables, estimate their effects and write a public report
#'
#' Each call spends epsilon from the privacy budget of the data.
#' @inheritParams dp_select
#' @param delta The chance that the promise fails.
#' @param output The report to write, HTML.
#' @return An analysis; see [tidy()], [glance()] and [autoplot()].
dp_analyze <- function(data, response = NULL, epsilon, delta = 1e-6, predictors = NULL, categories = list(),
                       study = NULL, ledger = NULL, output = "report.html", ...) {
  release <- with_file(data, response, predictors, categories, study, ledger, list(...), function(file, about) {
    run(c("analyze", file, about, "--epsilon", format(epsilon, digits = 15), "--delta", format(delta), "--yes",
          "--json", "-o", output, if (!is.null(ledger)) c("--ledger", ledger), more(...)))
  })
  structure(list(selection = selection_parts(release$selection), coefficients = release$coefficients,
                 effects = effects_of(output), report = output, release = release), class = "dp_analysis")
}

selection_parts <- function(release) {
  study <- release$recipe$study
  list(
    response = study$response$name,
    variables = setdiff(unlist(release$variables), "intercept"),
    directions = Filter(Negate(is.null), release$directions),
    considered = vapply(study$predictors, function(each) each$name, ""),
    rows = release$recipe$rows,
    epsilon = as.numeric(release$recipe$guarantee$epsilon),
    release = release
  )
}

# The table of effects as the command itself writes it: one row per term, from the public JSON beside the report.
effects_of <- function(output) {
  table <- tempfile(fileext = ".csv")
  on.exit(unlink(table))
  json <- sub("\\.html?$", ".json", output)
  status <- system2(dp_command(), c("report", shQuote(json), "-o", shQuote(table), "--quiet"), stdout = FALSE, stderr = FALSE)
  if (status != 0) stop("The table of effects cannot be read from ", json, ". The report itself is in ", output, ".")
  rows <- read.csv(table, na.strings = "", stringsAsFactors = FALSE, encoding = "UTF-8")
  if ("hidden" %in% names(rows)) rows$hidden <- as.character(rows$hidden) %in% c("true", "TRUE")
  rows
}
