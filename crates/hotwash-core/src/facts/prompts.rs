//! What the people in front of the agent did: prompts, commands, interrupts.

use super::calls::KeyMap;
use super::value::{Cited, facts};
use super::word::Outside;
use super::{Fold, text_hash};
use crate::sessions::{Compaction, Event, EventId, Kind, PromptVia};
use serde::{Deserialize, Serialize};

facts! {
    /// What people did.
    pub struct PromptFacts {
        /// Prompts by a person, one per record at most.
        /// Why: a prompt opens a turn; everything else is measured against them.
        /// Blind: a prompt that was queued and withdrawn.
        human_prompts: Cited,
        /// Those of them that rode in one record with a tool's result.
        /// Why: they steer a turn that is under way.
        /// Blind: nothing known.
        human_prompts_in_tool_result_lines: u64,
        /// Those of them that were typed while the agent worked and reached it as an attachment.
        /// Why: they steer a turn that is under way.
        /// Blind: clients before 2.1.91 do not record them so.
        human_prompts_in_attachments: u64,
        /// Those of them that are the condition of a `/goal`.
        /// Why: the plainest statement of what is wanted, and what the client measures the work by.
        /// Blind: goals that the agent proposed.
        human_prompts_as_goals: Cited,
        /// Plans that a person approved and the client then put as a prompt.
        /// Why: an approval opens a turn but holds no words of the person.
        /// Blind: plans carried out in the session that made them.
        plan_prompts: Cited,
        /// Texts that were queued while the agent worked and appear nowhere else in the transcript.
        /// Why: somebody wanted to say something that the agent never saw.
        /// Blind: a text that was changed before it was sent counts as lost.
        queue_only_prompts: Cited,
        /// Turns: prompts and approved plans.
        /// Why: the length of a session as a person feels it.
        /// Blind: prompts that only steer a turn under way open none of their own in the person's mind.
        turns: u64,
        /// Slash commands, in order.
        /// Why: they show how the agent is driven.
        /// Blind: commands that the client handles without recording.
        slash_commands: Vec<Outside>,
        /// `/clear` commands.
        /// Why: they wipe the context, so a session ends there.
        /// Blind: the old transcript holds no mark; only the new one does.
        clears: Cited,
        /// Commands that a person ran in shell mode.
        /// Why: work that a person did by hand in the middle of a session.
        /// Blind: what was done in another terminal.
        bang_commands: Cited,
        /// Times a person stopped the agent.
        /// Why: the plainest sign that something went the wrong way.
        /// Blind: a closed terminal.
        interrupts: Cited,
        /// Compactions that a person asked for.
        /// Why: the context was cut on purpose.
        /// Blind: nothing known.
        compactions_manual: Cited,
        /// Compactions because the context was full.
        /// Why: what was known before is known only in summary after.
        /// Blind: silent trimming of old tool results.
        compactions_auto: Cited,
    }
}

/// The fold behind [`PromptFacts`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Prompts {
    facts: PromptFacts,
    said: Vec<u64>,
    queued: KeyMap<u64, EventId>,
}

impl Fold for Prompts {
    type Facts = PromptFacts;

    fn said(&mut self, event: &Event<'_>) {
        let id = event.origin.id;
        let facts = &mut self.facts;
        match &event.kind {
            Kind::Prompt(prompt) => {
                facts.human_prompts.push(id);
                facts.turns += 1;
                match prompt.via {
                    PromptVia::Typed => {}
                    PromptVia::WithResult => facts.human_prompts_in_tool_result_lines += 1,
                    PromptVia::Queued => facts.human_prompts_in_attachments += 1,
                    PromptVia::Goal => facts.human_prompts_as_goals.push(id),
                }
                self.said.push(text_hash(prompt.words));
            }
            Kind::PlanApproval(_) => {
                facts.plan_prompts.push(id);
                facts.turns += 1;
            }
            Kind::Queued(text) => {
                self.queued.entry(text_hash(&text.to_str())).or_insert(id);
            }
            Kind::Command { name, .. } => {
                let name = name.to_str();
                if name == "/clear" {
                    facts.clears.push(id);
                }
                facts.slash_commands.push(name.into_owned().into());
            }
            Kind::Bang(_) => facts.bang_commands.push(id),
            Kind::Interrupt => facts.interrupts.push(id),
            Kind::Compaction(Compaction::Manual) => facts.compactions_manual.push(id),
            Kind::Compaction(Compaction::Auto) => facts.compactions_auto.push(id),
            _ => {}
        }
    }

    fn finish(&mut self) -> PromptFacts {
        let mut facts = std::mem::take(&mut self.facts);
        self.said.sort_unstable();
        let lost = self.queued.iter().filter(|(text, _)| self.said.binary_search(text).is_err());
        facts.queue_only_prompts = Cited(lost.map(|(_, id)| *id).collect());
        facts.queue_only_prompts.0.sort_unstable();
        facts
    }
}
