//! The plan: which files, how large.

use crate::chance::Rng;
use crate::session::{PROJECTS, agent_id, start};
use crate::words::uuid;
use std::path::{Path, PathBuf};

/// The largest transcript seen.
const MAX_FILE: f64 = 87e6;

/// One file to be written.
pub(crate) struct Plan {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    pub(crate) seed: u64,
    pub(crate) cwd: String,
    pub(crate) session: String,
    /// A subagent's own file.
    pub(crate) agent: Option<String>,
    pub(crate) fork: Option<Fork>,
    /// When a subagent starts: soon after its parent.
    pub(crate) start: Option<u64>,
}

/// A file that starts as a copy of another: the same uuids and message ids.
#[derive(Clone, Copy)]
pub(crate) struct Fork {
    pub(crate) seed: u64,
    pub(crate) bytes: u64,
    pub(crate) copied: u64,
}

/// File sizes by rank: median 105 KB, p90 650 KB, p99 5.4 MB, the largest 87 MB.
///
/// Straight lines between the measured quantiles, in log size over the normal score: log-normal in the body, heavier
/// in the tail.
pub(crate) fn sizes(files: usize, total: u64) -> Vec<u64> {
    const POINTS: &[(f64, f64)] = &[(-3.9, 1.5e3), (0.0, 105e3), (1.2816, 650e3), (2.3263, 5.4e6), (3.72, MAX_FILE)];
    let raw: Vec<f64> = (0..files)
        .map(|rank| {
            let z = normal_score((rank as f64 + 0.5) / files as f64);
            let right = POINTS.iter().position(|point| z <= point.0).unwrap_or(POINTS.len() - 1).max(1);
            let ((z0, s0), (z1, s1)) = (POINTS[right - 1], POINTS[right]);
            (s0.ln() + (z - z0) / (z1 - z0) * (s1.ln() - s0.ln())).exp().min(MAX_FILE)
        })
        .collect();
    // To the total asked for: the largest stay below the cap, the others make up for it.
    let mut factor = total as f64 / raw.iter().sum::<f64>();
    for _ in 0..30 {
        let sum: f64 = raw.iter().map(|size| (size * factor).min(MAX_FILE)).sum();
        factor *= total as f64 / sum;
    }
    raw.iter()
        .map(|size| {
            // The record that passes the mark is written whole, and so is what ends its turn.
            let size = (size * factor).min(MAX_FILE) as u64;
            size - (size / 3).min(17_000)
        })
        .collect()
}

/// The inverse of the normal distribution, after Acklam's central and tail fits; good to 1e-4 here.
pub(crate) fn normal_score(p: f64) -> f64 {
    let tail = |q: f64| {
        let t = (-2.0 * q.ln()).sqrt();
        t - (2.515_517 + 0.802_853 * t + 0.010_328 * t * t)
            / (1.0 + 1.432_788 * t + 0.189_269 * t * t + 0.001_308 * t * t * t)
    };
    if p < 0.5 { -tail(p) } else { tail(1.0 - p) }
}

pub(crate) fn plans(root: &Path, files: usize, total: u64, seed: u64) -> Vec<Plan> {
    let mut rng = Rng(seed);
    let mut sizes = sizes(files, total);
    for n in (1..sizes.len()).rev() {
        sizes.swap(n, rng.below(n as u64 + 1) as usize);
    }
    let mut plans: Vec<Plan> = Vec::with_capacity(files);
    for (n, bytes) in sizes.into_iter().enumerate() {
        let seed = rng.next();
        let parent = plans.last().filter(|plan| plan.agent.is_none() && plan.fork.is_none());
        let (mut agent, mut fork, mut begins) = (None, None, None);
        let (mut project, mut session) = (rng.pick(PROJECTS), uuid(&mut rng));
        let mut folder = None;
        if let Some(parent) = parent {
            if n % 12 == 5 && bytes < 1_500_000 {
                agent = Some(agent_id(parent.seed, 0));
                begins = Some(start(parent.seed, parent.bytes) + 60_000);
                session.clone_from(&parent.session);
                folder = Some(parent);
            } else if n % 90 == 40 && parent.bytes < 5_000_000 {
                fork = Some(Fork { seed: parent.seed, bytes: parent.bytes, copied: parent.bytes.min(bytes * 4 / 5) });
                folder = Some(parent);
            }
        }
        if let Some(parent) = folder {
            project = PROJECTS.iter().find(|name| parent.cwd.ends_with(*name)).copied().unwrap_or(project);
        }
        let cwd = format!("/home/dev/work/{project}");
        let slug = root.join("projects").join(cwd.replace('/', "-"));
        let path = match &agent {
            Some(id) => slug.join(&session).join("subagents").join(format!("agent-{id}.jsonl")),
            None => slug.join(format!("{session}.jsonl")),
        };
        plans.push(Plan { path, bytes, seed, cwd, session, agent, fork, start: begins });
    }
    plans
}
