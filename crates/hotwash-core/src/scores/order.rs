//! Worst first.

use super::Grade;
use crate::outcomes::Goal;

/// Sorts sessions that need attention to the front: missed goals by overall, then undecided sessions by process score, then
/// reached goals by overall, then what has no score.
pub fn worst_first(grade: Option<&Grade>, goal: Option<Goal>) -> (u8, u32) {
    let overall = grade.and_then(|grade| grade.overall.thousandths());
    let process = grade.and_then(|grade| grade.overall.process());
    match (goal, overall.or(process)) {
        (Some(Goal::Failed), number) => (0, number.unwrap_or(0)),
        (_, None) => (3, 0),
        (Some(Goal::Complete), Some(number)) => (2, number),
        (Some(Goal::Undecided) | None, Some(number)) => (1, process.unwrap_or(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Overall;
    use super::*;

    fn graded(thousandths: u32, process: u32) -> Grade {
        let overall =
            Overall::Graded { thousandths, tier: "Poor".into(), cap: None, present: 6, process: Some(process) };
        Grade { scores: Vec::new(), overall, flags: Vec::new() }
    }

    fn process(thousandths: u32) -> Grade {
        Grade { overall: Overall::Process { thousandths, present: 4 }, ..graded(0, 0) }
    }

    #[test]
    fn missed_goals_come_first_then_undecided_then_reached() {
        let none = Grade { overall: Overall::TooFew { present: 1, needed: 3 }, ..graded(0, 0) };
        let in_order = [
            (none.clone(), Some(Goal::Failed)),
            (graded(300, 900), Some(Goal::Failed)),
            (graded(499, 100), Some(Goal::Failed)),
            (process(200), Some(Goal::Undecided)),
            (graded(600, 500), Some(Goal::Undecided)),
            (process(700), None),
            (graded(100, 100), Some(Goal::Complete)),
            (graded(900, 100), Some(Goal::Complete)),
            (none, Some(Goal::Undecided)),
        ];
        let keys: Vec<_> = in_order.iter().map(|(grade, goal)| worst_first(Some(grade), *goal)).collect();
        assert!(keys.is_sorted(), "{keys:?}");
        assert_eq!(worst_first(None, None), (3, 0));
    }
}
