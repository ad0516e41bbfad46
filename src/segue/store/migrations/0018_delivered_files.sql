-- The files of an answer, which its channel sends after the text.
ALTER TABLE deliveries ADD COLUMN parts TEXT;
