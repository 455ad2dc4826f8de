//! What tests of backends stand on besides a server: a ledger of batches, and a prompt.

pub(super) use crate::net::testing::*;

use super::batches::{Ledger, OpenBatch};
use hotwash_core::prompts::{Prompt, Task};
use hotwash_core::redaction::{Rules, redact};
use serde_json::json;
use std::sync::{Arc, Mutex};

/// A ledger of batches that lasts as long as the test.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    pub(super) open: Mutex<Vec<OpenBatch>>,
    /// The run dies after a batch was sent and before that is written down.
    pub(super) dies_after_sending: bool,
}

impl Ledger for Shelf {
    fn open(&self) -> Result<Vec<OpenBatch>, String> {
        Ok(self.open.lock().unwrap().clone())
    }

    fn submitting(&self, batch: &OpenBatch) -> Result<(), String> {
        self.open.lock().unwrap().push(batch.clone());
        Ok(())
    }

    fn submitted(&self, token: &str, batch: &str) -> Result<(), String> {
        if self.dies_after_sending {
            return Err("dead".into());
        }
        let mut open = self.open.lock().unwrap();
        open.iter_mut().filter(|open| open.token == token).for_each(|open| open.batch = Some(batch.to_owned()));
        Ok(())
    }

    fn finished(&self, token: &str) -> Result<(), String> {
        self.open.lock().unwrap().retain(|open| open.token != token);
        Ok(())
    }
}

/// A prompt of three words.
pub(super) fn prompt() -> Prompt {
    prompt_of("EVIDENCE")
}

pub(super) fn prompt_of(evidence: &str) -> Prompt {
    let text = |text: &str| redact(text, &Rules::default());
    let schema = json!({
        "type": "object", "required": ["score"],
        "properties": {"score": {"type": "number", "minimum": 0, "maximum": 1}},
    });
    Prompt {
        task: Task::Quality,
        critic: String::new(),
        fixed: Arc::new(text("RULES")),
        evidence: text(evidence),
        question: text("QUESTION"),
        schema: Arc::new(schema),
        template_hash: "t".into(),
        max_output_tokens: 1000,
    }
}
