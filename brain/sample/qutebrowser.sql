-- Schema of a qutebrowser `history.sqlite`, user_version 4 (qutebrowser 3), as its own statements create it.
CREATE TABLE CompletionHistory (url PRIMARY KEY, title NOT NULL, last_atime NOT NULL);
CREATE TABLE CompletionMetaInfo (key PRIMARY KEY, value );
CREATE TABLE History (url NOT NULL, title NOT NULL, atime NOT NULL, redirect NOT NULL);
CREATE INDEX CompletionHistoryAtimeIndex ON CompletionHistory (last_atime);
CREATE INDEX HistoryIndex ON History (url);
CREATE INDEX HistoryAtimeIndex ON History (atime);
