"""Generated exports of an invented person, in the true formats of the browsers: for the demo, tests and benchmarks.

    from brain.sample import generate
    report = generate(Path("data/sample"), scale="demo", seed=1, end=date(2026, 11, 30))

writes

    chrome/Default/History                          Chromium, months of visits
    firefox/<profile>/places.sqlite                 Firefox, the same person's second browser
    safari/History.db, qutebrowser/history.sqlite   a Mac at work that syncs with a phone, and a short trial
    chrome/Default/Bookmarks, bookmarks/, safari/   what this person kept: the browser's file, an older export, Safari
    tabs/                                           tabs saved by OneTab and Tab Session Manager
    queries.json                                    questions with known answers (see `brain.sample.queries`)

The same scale, seed and end give the same rows. The person, the hosts (all under `.example`) and every text are
made up.
"""

from brain.sample.generate import DEFAULT_END, SCALES, SampleFile, SampleReport, generate

__all__ = ["DEFAULT_END", "SCALES", "SampleFile", "SampleReport", "generate"]
