# Methods in broom's words. The generics stand here too, so that neither broom nor generics is needed.

#' A table of a result
#' @param x A selection or an analysis.
#' @param ... Not used.
#' @return A data frame with one row per term.
tidy <- function(x, ...) UseMethod("tidy")

#' A result in one row
#' @inheritParams tidy
#' @return A data frame of one row.
glance <- function(x, ...) UseMethod("glance")

#' A figure of the effects
#' @param object An analysis.
#' @param ... Not used.
#' @return A ggplot object if ggplot2 is installed; else it is drawn with base graphics.
autoplot <- function(object, ...) UseMethod("autoplot")

tidy.dp_selection <- function(x, ...) {
  directions <- x$directions
  known <- vapply(x$considered, function(name) {
    found <- directions[[name]]
    if (is.null(found)) NA_character_ else found
  }, "", USE.NAMES = FALSE)
  selected <- vapply(x$considered, function(name) {
    any(x$variables == name | startsWith(x$variables, paste0(name, "[")))
  }, TRUE, USE.NAMES = FALSE)
  data.frame(term = x$considered, selected = selected, direction = known, stringsAsFactors = FALSE)
}

tidy.dp_analysis <- function(x, ...) x$effects

glance.dp_selection <- function(x, ...) {
  data.frame(response = x$response, considered = length(x$considered),
             selected = sum(tidy.dp_selection(x)$selected), rows = if (is.null(x$rows)) NA_integer_ else x$rows,
             epsilon = x$epsilon, stringsAsFactors = FALSE)
}

glance.dp_analysis <- function(x, ...) {
  row <- glance.dp_selection(x$selection)
  parts <- list(x$release$selection$recipe$guarantee, x$coefficients$guarantee)
  row$epsilon <- sum(vapply(parts, function(each) if (is.null(each)) 0 else as.numeric(each$epsilon), 0))
  row$delta <- sum(vapply(parts, function(each) if (is.null(each$delta)) 0 else as.numeric(each$delta), 0))
  row
}

print.dp_selection <- function(x, ...) {
  show_selected(x)
  cat(sprintf("Privacy: epsilon %g\n", x$epsilon))
  invisible(x)
}

show_selected <- function(x) {
  found <- tidy.dp_selection(x)
  cat(sprintf("Selected %d of %d variables that explain %s\n", sum(found$selected), nrow(found), x$response))
  ways <- ifelse(is.na(found$direction), "", found$direction)
  for (way in c("up", "down", "")) {
    names <- found$term[found$selected & ways == way]
    if (length(names)) cat(sprintf("  %-5s %s\n", way, paste(names, collapse = ", ")))
  }
}

print.dp_analysis <- function(x, ...) {
  show_selected(x$selection)
  shown <- intersect(c("term", "estimate", "conf_low", "conf_high"), names(x$effects))
  if (nrow(x$effects)) print(x$effects[shown], row.names = FALSE)
  paid <- glance.dp_analysis(x)
  cat(sprintf("Privacy: epsilon %g, delta %g\nReport: %s\n", paid$epsilon, paid$delta, x$report))
  invisible(x)
}

autoplot.dp_analysis <- function(object, ...) {
  rows <- object$effects
  rows <- rows[rows$term != "intercept", ]
  if (!requireNamespace("ggplot2", quietly = TRUE)) {
    plot.dp_analysis(object)
    return(invisible(rows))
  }
  ggplot2::ggplot(rows, ggplot2::aes(x = .data$estimate, y = .data$term)) +
    ggplot2::geom_vline(xintercept = 0, linetype = 2) +
    ggplot2::geom_pointrange(ggplot2::aes(xmin = .data$conf_low, xmax = .data$conf_high)) +
    ggplot2::labs(x = paste("Effect on", object$selection$response), y = NULL)
}

plot.dp_analysis <- function(x, ...) {
  rows <- x$effects
  rows <- rows[rows$term != "intercept", ]
  ends <- c(rows$conf_low, rows$conf_high, rows$estimate, 0)
  before <- par(mar = c(4, 9, 2, 1))
  on.exit(par(before))
  plot.new()
  plot.window(range(ends[is.finite(ends)]), c(0.5, nrow(rows) + 0.5))
  places <- rev(seq_len(nrow(rows)))
  abline(v = 0, lty = 2)
  segments(rows$conf_low, places, rows$conf_high, places, lwd = 2)
  points(rows$estimate, places, pch = 19)
  axis(1)
  axis(2, at = places, labels = rows$term, las = 1, tick = FALSE)
  title(xlab = paste("Effect on", x$selection$response))
  invisible(rows)
}

utils::globalVariables(".data")
