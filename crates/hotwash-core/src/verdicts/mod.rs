//! What a judge answered, read and checked: the only reader of replies.
