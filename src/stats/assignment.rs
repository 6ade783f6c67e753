//! One-to-one matching with the largest sum of weights, exact.
//!
//! Made for sparse problems: the pairs that may match are given as a list, the graph they form falls
//! apart into small pieces, and each piece is solved by shortest augmenting paths with potentials (the
//! Hungarian method; Jonker and Volgenant 1987), O(n²m) in the size of the piece.

use std::collections::BTreeMap;

/// A pair that may match. The weight is finite and above 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// Item on the left.
    pub left: usize,
    /// Item on the right.
    pub right: usize,
    /// What the pair adds to the sum.
    pub weight: f64,
}

/// The pairs `(left, right)` of the matching with the largest sum of weights, sorted. Only candidates are
/// matched, and each item at most once; an item may stay alone.
///
/// Weights that are not finite or not above 0 are left out. Among matchings of equal sum the choice
/// depends on the order of the items only, so it is the same on every machine.
pub fn best_pairs(candidates: &[Candidate]) -> Vec<(usize, usize)> {
    let mut usable: Vec<Candidate> = candidates
        .iter()
        .copied()
        .filter(|candidate| candidate.weight.is_finite() && candidate.weight > 0.0)
        .collect();
    usable.sort_by_key(|candidate| (candidate.left, candidate.right));
    let mut pairs = Vec::new();
    for piece in pieces(&usable) {
        match piece.as_slice() {
            [only] => pairs.push((only.left, only.right)),
            several => solve(several, &mut pairs),
        }
    }
    pairs.sort_unstable();
    pairs
}

/// Candidates grouped so that no item occurs in two groups.
fn pieces(candidates: &[Candidate]) -> Vec<Vec<Candidate>> {
    let mut root: Vec<usize> = (0..candidates.len()).collect();
    fn find(root: &mut [usize], mut at: usize) -> usize {
        while root[at] != at {
            root[at] = root[root[at]];
            at = root[at];
        }
        at
    }
    let mut first_of_left = BTreeMap::new();
    let mut first_of_right = BTreeMap::new();
    for (index, candidate) in candidates.iter().enumerate() {
        for other in [
            *first_of_left.entry(candidate.left).or_insert(index),
            *first_of_right.entry(candidate.right).or_insert(index),
        ] {
            let (one, two) = (find(&mut root, index), find(&mut root, other));
            root[one.max(two)] = one.min(two);
        }
    }
    let mut groups: BTreeMap<usize, Vec<Candidate>> = BTreeMap::new();
    for (index, candidate) in candidates.iter().enumerate() {
        groups.entry(find(&mut root, index)).or_default().push(*candidate);
    }
    groups.into_values().collect()
}

/// Solves one piece as a square assignment problem in which a missing pair costs 0.
fn solve(piece: &[Candidate], pairs: &mut Vec<(usize, usize)>) {
    let mut lefts: Vec<usize> = piece.iter().map(|candidate| candidate.left).collect();
    let mut rights: Vec<usize> = piece.iter().map(|candidate| candidate.right).collect();
    for items in [&mut lefts, &mut rights] {
        items.sort_unstable();
        items.dedup();
    }
    let size = lefts.len().max(rights.len());
    let mut weight = vec![0.0; size * size];
    for candidate in piece {
        let place = |items: &[usize], item: usize| items.partition_point(|other| *other < item);
        weight[place(&lefts, candidate.left) * size + place(&rights, candidate.right)] =
            candidate.weight;
    }
    let row_of_column = assign(&weight, size);
    for (column, row) in row_of_column.into_iter().enumerate() {
        if weight[row * size + column] > 0.0 {
            pairs.push((lefts[row], rights[column]));
        }
    }
}

/// The row assigned to each column of a square matrix so that the sum of weights is largest.
fn assign(weight: &[f64], size: usize) -> Vec<usize> {
    // Rows and columns count from 1 here; 0 is the row being placed and the column it starts from.
    let mut row_potential = vec![0.0; size + 1];
    let mut column_potential = vec![0.0; size + 1];
    let mut row_of_column = vec![0; size + 1];
    let mut came_from = vec![0; size + 1];
    for row in 1..=size {
        row_of_column[0] = row;
        let mut column = 0;
        let mut shortest = vec![f64::INFINITY; size + 1];
        let mut visited = vec![false; size + 1];
        while row_of_column[column] != 0 {
            visited[column] = true;
            let at = row_of_column[column];
            let mut step = f64::INFINITY;
            let mut next = 0;
            for other in 1..=size {
                if visited[other] {
                    continue;
                }
                let cost = -weight[(at - 1) * size + other - 1];
                let reduced = cost - row_potential[at] - column_potential[other];
                if reduced < shortest[other] {
                    shortest[other] = reduced;
                    came_from[other] = column;
                }
                if shortest[other] < step {
                    step = shortest[other];
                    next = other;
                }
            }
            for other in 0..=size {
                if visited[other] {
                    row_potential[row_of_column[other]] += step;
                    column_potential[other] -= step;
                } else {
                    shortest[other] -= step;
                }
            }
            column = next;
        }
        while column != 0 {
            let before = came_from[column];
            row_of_column[column] = row_of_column[before];
            column = before;
        }
    }
    row_of_column[1..].iter().map(|row| row - 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn candidates(rows: &[&[f64]]) -> Vec<Candidate> {
        let mut list = Vec::new();
        for (left, row) in rows.iter().enumerate() {
            for (right, weight) in row.iter().enumerate() {
                list.push(Candidate { left, right, weight: *weight });
            }
        }
        list
    }

    #[test]
    fn the_largest_sum_wins_over_the_largest_pair() {
        let rows: [&[f64]; 2] = [&[0.9, 0.8], &[0.8, 0.0]];
        assert_eq!(best_pairs(&candidates(&rows)), [(0, 1), (1, 0)]);
        // One heavy pair beats two light ones.
        let rows: [&[f64]; 2] = [&[0.9, 0.4], &[0.4, 0.0]];
        assert_eq!(best_pairs(&candidates(&rows)), [(0, 0)]);
    }

    #[test]
    fn nothing_useless_is_matched() {
        assert_eq!(best_pairs(&[]), []);
        let rows: [&[f64]; 2] = [&[f64::NAN, 0.0], &[-1.0, f64::INFINITY]];
        assert_eq!(best_pairs(&candidates(&rows)), []);
    }

    #[test]
    fn lists_of_unequal_length() {
        let rows: [&[f64]; 1] = [&[0.5, 0.7, 0.6]];
        assert_eq!(best_pairs(&candidates(&rows)), [(0, 1)]);
        let rows: [&[f64]; 3] = [&[0.5], &[0.7], &[0.6]];
        assert_eq!(best_pairs(&candidates(&rows)), [(1, 0)]);
    }

    /// Every one-to-one matching, tried.
    fn brute_force(candidates: &[Candidate], from: usize, used: &mut Vec<(usize, usize)>) -> f64 {
        let Some(candidate) = candidates.get(from) else { return 0.0 };
        let mut best = brute_force(candidates, from + 1, used);
        let free =
            used.iter().all(|(left, right)| *left != candidate.left && *right != candidate.right);
        if free && candidate.weight > 0.0 {
            used.push((candidate.left, candidate.right));
            best = best.max(candidate.weight + brute_force(candidates, from + 1, used));
            used.pop();
        }
        best
    }

    proptest! {
        #[test]
        fn as_good_as_trying_everything(
            weights in proptest::collection::vec(
                proptest::collection::vec(prop_oneof![2 => Just(0.0), 3 => 0.01..1.0_f64], 4), 0..5),
        ) {
            let rows: Vec<&[f64]> = weights.iter().map(Vec::as_slice).collect();
            let all = candidates(&rows);
            let pairs = best_pairs(&all);
            let sum: f64 = pairs.iter().map(|(left, right)| weights[*left][*right]).sum();
            let mut lefts: Vec<_> = pairs.iter().map(|pair| pair.0).collect();
            let mut rights: Vec<_> = pairs.iter().map(|pair| pair.1).collect();
            lefts.dedup();
            rights.sort_unstable();
            rights.dedup();
            prop_assert_eq!(lefts.len(), pairs.len());
            prop_assert_eq!(rights.len(), pairs.len());
            prop_assert!((sum - brute_force(&all, 0, &mut Vec::new())).abs() < 1e-9);
        }
    }
}
