# Run by R CMD check, and by tests/use/test_r.py: a data frame in, a selection, a table and a figure out.
library(dpselect)
if (!nzchar(Sys.getenv("DPSELECT", unset = Sys.which("dpselect")))) {
  message("Left out: the command dpselect is not installed.")
  quit(status = 0)
}
set.seed(1)
people <- data.frame(age = runif(4000, 18, 90), noise = runif(4000), region = factor(sample(c("north", "south"), 4000, TRUE)))
people$income <- 20 + 0.5 * people$age + rnorm(4000, 0, 5)
folder <- tempfile()
dir.create(folder)
ledger <- file.path(folder, "people.budget.db")

regions <- list(region = c("north", "south"))
found <- dp_select(people, "income", epsilon = 1, predictors = c("age", "noise"), categories = regions, ledger = ledger,
                   total_epsilon = 4)
print(found)
stopifnot(identical(found$variables, "age"), identical(found$directions$age, "up"))
stopifnot(setequal(tidy(found)$term, c("age", "noise", "region")), glance(found)$epsilon == 1)

refused <- tryCatch(dp_select(people, "incom", epsilon = 1, predictors = "age", ledger = ledger), error = conditionMessage)
stopifnot(grepl("no column 'incom'", refused), grepl("Nothing was spent", refused))
stopifnot(grepl("Name the ledger", tryCatch(dp_select(people, "income", epsilon = 1), error = conditionMessage)))

study <- file.path(folder, "study.toml")
writeLines(c("[response]", "name = \"income\"", "lower = 0", "upper = 100",
             "[[predictors]]", "name = \"age\"", "lower = 18", "upper = 90",
             "[[predictors]]", "name = \"noise\"", "lower = 0", "upper = 1"), study)
analysis <- dp_analyze(people, epsilon = 2, study = study, ledger = ledger, output = file.path(folder, "report.html"))
print(analysis)
rows <- tidy(analysis)
stopifnot(abs(rows$estimate[rows$term == "age"] - 0.5) < 0.2, file.exists(analysis$report))
stopifnot(abs(glance(analysis)$epsilon - 2) < 1e-9)
pdf(file.path(folder, "figure.pdf"))
autoplot(analysis)
invisible(dev.off())
