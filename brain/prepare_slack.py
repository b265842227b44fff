"""Slack messages as the lake may keep them: secrets masked, denied links left out, every link with its page."""

import polars as pl
import pyarrow as pa

from brain import scrub, urls
from brain.policy import Policy


def messages(rows: pa.RecordBatch, key: bytes, policy: Policy) -> pl.DataFrame:
    """Columns of `store.slack_messages` with the lists `links`, `reactions` and `files`; one row per message.

    Of a message that stands twice in the rows the newer copy is kept. `sent_at` is UTC.
    """
    frame = pl.DataFrame(rows)
    own = pl.concat_str("channel_id", "ts", separator="\0")
    thread = pl.concat_str("channel_id", "thread_ts", separator="\0")
    named = frame.select(own.alias("own"), thread.alias("thread"))
    frame = frame.with_columns(
        urls.record_ids(named["own"], key, "slack_message").alias("message_key"),
        urls.record_ids(named["thread"], key, "slack_thread").alias("thread_id"),
        # Keyed, since what it is of may hold secrets.
        urls.record_ids(frame["content_hash"].cast(pl.String), key, "slack_content").alias("content_hash"),
        pl.col("sent_us").cast(pl.Datetime("us", "UTC")).alias("sent_at"),
        scrub.scrub_texts(frame["text"], key).alias("text"),
    )
    frame = frame.sort("edited_ts", "reply_count", nulls_last=False, maintain_order=True)
    frame = frame.unique("message_key", keep="last").sort("sent_at", "ts", maintain_order=True)
    frame = frame.drop("links", "sent_us").join(_links(frame, key, policy), on="message_key", how="left")
    return frame.drop("files").join(_files(frame, key), on="message_key", how="left")


def _links(frame: pl.DataFrame, key: bytes, policy: Policy) -> pl.DataFrame:
    links = (
        frame.select("message_key", pl.col("links"))
        .explode("links", empty_as_null=False)
        .drop_nulls("links")
        .unnest("links")
    )
    links = links.filter(~policy.denied(links["url"]).fill_null(True))
    clean = scrub.scrub(links["url"], key)
    norm = urls.normalise(clean)
    links = links.with_columns(
        clean.alias("url"),
        scrub.scrub_texts(links["label"], key).alias("label"),
        norm["domain"],
        urls.page_ids(norm["url_norm"], key).alias("page_id"),
    )
    held = pl.struct("url", "label", "domain", "page_id").alias("links")
    return links.group_by("message_key", maintain_order=True).agg(held)


def _files(frame: pl.DataFrame, key: bytes) -> pl.DataFrame:
    files = (
        frame.select("message_key", "files")
        .explode("files", empty_as_null=False)
        .drop_nulls("files")
        .unnest("files")
    )
    files = files.with_columns(
        scrub.scrub(files["url"], key).alias("url"),
        *(scrub.scrub_texts(files[name], key).alias(name) for name in ("name", "title")),
    )
    held = pl.struct("file_id", "name", "title", "mimetype", "bytes", "url").alias("files")
    return files.group_by("message_key", maintain_order=True).agg(held)
