"""Embedding speed: the default model here against plain sentence-transformers, on the same weights.

    python bench/embedding.py [--titles 1000] [--passages 150] [--rounds 5]

Both sides embed the same generated texts in turns, so that what else the machine does hits both; the ratio
is that of the medians. Without sentence-transformers only our own rates are printed. The reference is
`SentenceTransformer.encode(texts, batch_size=32)` as it comes.
"""

import argparse
import contextlib
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from brain.embedding import install, load

# Everyday words of one to three tokens, so that lengths in tokens are like those of real titles and prose.
_TEXT = """
account answer api archive article async autumn backup bakery balance battery bicycle billing bookmark
branch bread browser budget bug calendar camera cancel certificate chart city class client cluster coffee
column comment compiler config connection container cookie country course css customer dashboard database
deadline debug decision default delivery deploy design device docker document domain download draft
economics editor electric email embedding energy engine error evening event example export express failure
family feature festival file filter flight folder forecast form forum framework function garden git graph
group guide health history holiday hotel house image import index industry install insurance interview
invoice issue javascript journal kernel keyboard kitchen label language laptop latency launch library
license limit linear linux list local login machine manager map market meeting memory message method
migration minutes mobile model monitor morning mountain museum music network news node notebook number offer
office online open option orchestra order package page paper parser password patch payment permission phone
photo pipeline plan planet plugin policy postgres price privacy problem process product profile project
proposal protocol public python query question queue railway random recipe refund registry release report
request research restaurant result review river road roadmap rust schedule schema school science script
search season security server service session setting shop signal slow software solution source speed spring
sqlite stable station storage store story stream street string summer support surface survey switch syntax
system table task team template terminal test theory thread ticket time token tool tracker traffic train
translation travel tutorial type update upload vector version video village virtual volume weather website
week window winter wireless worker workflow writing year the of and to in for with on from how what why when
is a not by at this that
"""
WORDS = _TEXT.split()


def titles(count: int, seed: int = 1) -> list[str]:
    """Page titles of 4 to 12 words."""
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(4, 12))).capitalize() for _ in range(count)]


def passages(count: int, seed: int = 2) -> list[str]:
    """Passages of 90 to 150 words in sentences."""
    rng = random.Random(seed)
    texts = []
    for _ in range(count):
        left, sentences = rng.randint(90, 150), []
        while left > 0:
            length = min(left, rng.randint(8, 20))
            sentences.append(" ".join(rng.choices(WORDS, k=length)).capitalize() + ".")
            left -= length
        texts.append(" ".join(sentences))
    return texts


def reference(folder: Path) -> Callable[[list[str]], np.ndarray] | None:
    """Plain sentence-transformers on the published weights, or None where it is not installed."""
    try:
        import transformers
        from sentence_transformers import SentenceTransformer
    except ImportError:
        return None
    transformers.utils.logging.disable_progress_bar()
    model = SentenceTransformer(str(install.fetch(folder)), device="cpu", local_files_only=True)
    return lambda texts: model.encode(texts, batch_size=32, show_progress_bar=False)


def seconds(embed: Callable[[list[str]], np.ndarray], texts: list[str]) -> float:
    start = time.perf_counter()
    embed(texts)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--titles", type=int, default=1_000)
    parser.add_argument("--passages", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="one round of few texts: does it run at all")
    args = parser.parse_args()
    if args.quick:
        args.titles, args.passages, args.rounds = 64, 8, 1
    install.install()
    ours = load()
    with contextlib.ExitStack() as stack:
        theirs = reference(Path(stack.enter_context(tempfile.TemporaryDirectory())) / "model")
    print(f"{'texts':<10}{'ours /s':>10}{'plain /s':>10}{'ratio':>8}{'reach':>8}{'stretch':>9}{'cosine':>8}")
    goals = (("titles", titles(args.titles), 3.0, 4.5), ("passages", passages(args.passages), 2.5, 4.0))
    for name, texts, reach, stretch in goals:
        few = texts[:64]
        ours.embed(few)
        cosine = float((ours.embed(few) * theirs(few)).sum(axis=1).mean()) if theirs else float("nan")
        mine: list[float] = []
        plain: list[float] = []
        for _ in range(args.rounds):
            mine.append(seconds(ours.embed, texts))
            if theirs:
                plain.append(seconds(theirs, texts))
        fast = len(texts) / statistics.median(mine)
        slow = len(texts) / statistics.median(plain) if plain else float("nan")
        print(f"{name:<10}{fast:>10.0f}{slow:>10.0f}{fast / slow:>8.2f}{reach:>8}{stretch:>9}{cosine:>8.4f}")


if __name__ == "__main__":
    main()
