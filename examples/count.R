# Counts to MAX_ITER, slowly, in as many attempts as it takes. It stands for any long computation and shows the three things
# that make one fit for a chain: resume from the checkpoint, save now and then, save and leave when told to. R itself is enough.
#
# R cannot catch TERM, and dies of it; term-to-int.sh turns it into an interrupt, which R can catch:
#
#   bash term-to-int.sh Rscript count.R
#
#   CKPT_PATH         the checkpoint, one number             (state_iter.txt)
#   MAX_ITER          count up to this                       (500)
#   CHECKPOINT_EVERY  save after so many steps               (20)
#   STEP_SEC          how long a step takes, in seconds      (0.5)

setting <- function(name, default) if (nzchar(value <- Sys.getenv(name))) value else default

checkpoint <- setting("CKPT_PATH", "state_iter.txt")
last <- as.numeric(setting("MAX_ITER", "500"))
every <- as.numeric(setting("CHECKPOINT_EVERY", "20"))
step_sec <- as.numeric(setting("STEP_SEC", "0.5"))

DONE <- 0 # nothing left to do
SAVED <- 99 # saved, and there is more to do

main <- function() {
  n <- resume()
  # stint sets STINT_*; without stint the count works just the same.
  say("attempt %s of %s goes on at %.0f of %.0f", setting("STINT_ATTEMPT", "1"), setting("STINT_TASK_ID", "count"), n, last)
  if (nzchar(Sys.getenv("STINT_DEADLINE"))) {
    say("TERM is due at %s (epoch seconds)", Sys.getenv("STINT_DEADLINE"))
  }

  while (n < last) {
    # A step that was cut short does not count.
    if (!work(step_sec)) {
      save(n)
      say("told to stop, saved at %.0f", n)
      return(SAVED)
    }
    n <- n + 1
    cat(sprintf("step %.0f\n", n))
    if (n %% every == 0) save(n)
  }

  save(n)
  say("done at %.0f", n)
  DONE
}

# This is the work, and the only place where an interrupt is let in: one that came before it is heard at its beginning.
work <- function(seconds) {
  tryCatch(
    allowInterrupts({
      Sys.sleep(seconds)
      TRUE
    }),
    interrupt = function(condition) FALSE
  )
}

# No checkpoint: start at 0. One that makes no sense: stop, since starting over would throw away what was done.
resume <- function() {
  if (!file.exists(checkpoint)) return(0)
  text <- trimws(paste(readLines(checkpoint, warn = FALSE), collapse = "\n"))
  if (!grepl("^[0-9]+$", text)) {
    message(sprintf("count: %s holds no number ('%s'): mend it or remove it", checkpoint, substr(text, 1, 40)))
    quit(save = "no", status = 1)
  }
  as.numeric(text)
}

# Never into the checkpoint itself: whoever dies half-way leaves half a file. A rename happens or it does not. (R has no fsync: a
# machine that loses power may lose the newest saves, and then the count goes on from an older one.)
save <- function(n) {
  temporary <- paste0(checkpoint, ".tmp")
  cat(sprintf("%.0f\n", n), file = temporary)
  if (!file.rename(temporary, checkpoint)) quit(save = "no", status = 1)
}

say <- function(...) cat("count: ", sprintf(...), "\n", sep = "")

# Interrupts that come once more, while it saves or leaves, find nobody.
suspendInterrupts(quit(save = "no", status = main()))
