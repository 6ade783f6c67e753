//! Agreement with values made by independent implementations, which lie beside the repository.

use super::agreement::{Answer, cohen_kappa, gwet_ac1, nominal_alpha, units};
use super::exact::fisher;
use super::paired::mcnemar_exact;
use super::proportion::{Interval, clopper_pearson, wilson};
use crate::shared_dir::shared_dir;

#[derive(serde::Deserialize)]
struct Golden {
    proportions: Vec<Proportion>,
    mcnemar: Vec<McNemar>,
    fisher: Vec<Fisher>,
    agreement: Vec<Agreement>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Agreement {
    name: String,
    ratings: Vec<Vec<Option<String>>>,
    pairs: Vec<AgreementPair>,
    units_with_two_or_more: usize,
    krippendorff_alpha_nominal: Option<f64>,
    gwet_ac1: Option<f64>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct AgreementPair {
    raters: [usize; 2],
    items_both_answered: usize,
    observed_agreement: Option<f64>,
    cohen_kappa: Option<f64>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Proportion {
    k: u64,
    n: u64,
    wilson: Option<[f64; 2]>,
    clopper_pearson: Option<[f64; 2]>,
}

#[derive(serde::Deserialize)]
struct McNemar {
    b: u64,
    c: u64,
    p: f64,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fisher {
    table: [[u64; 2]; 2],
    p_two_sided: f64,
}

#[test]
fn shared_reference_values_are_met_to_1e9() {
    let Some(folder) = shared_dir() else { return };
    let text = std::fs::read(folder.join("golden/statistics.json")).expect("readable");
    let golden: Golden = serde_json::from_slice(&text).expect("as described");
    let same =
        |found: Option<Interval>, expected: Option<[f64; 2]>, what: &str| match (found, expected) {
            (Some(found), Some([low, high])) => {
                assert!((found.low - low).abs() < 1e-9, "{what}: {} is not {low}", found.low);
                assert!((found.high - high).abs() < 1e-9, "{what}: {} is not {high}", found.high);
            }
            (found, expected) => assert_eq!(found.is_none(), expected.is_none(), "{what}"),
        };
    assert!(
        golden.proportions.len() >= 19 && golden.mcnemar.len() >= 13 && golden.fisher.len() >= 8
    );
    for row in golden.proportions {
        same(wilson(row.k, row.n), row.wilson, &format!("Wilson {}/{}", row.k, row.n));
        same(
            clopper_pearson(row.k, row.n),
            row.clopper_pearson,
            &format!("exact {}/{}", row.k, row.n),
        );
    }
    for row in golden.mcnemar {
        let p = mcnemar_exact(row.b, row.c);
        assert!((p - row.p).abs() < 1e-9, "McNemar {} {}: {p} is not {}", row.b, row.c, row.p);
    }
    for row in golden.fisher {
        let p = fisher(row.table);
        assert!((p - row.p_two_sided).abs() < 1e-9, "Fisher {:?}: {p}", row.table);
    }
}

#[test]
fn shared_agreement_values_are_met_to_1e9() {
    let Some(folder) = shared_dir() else { return };
    let text = std::fs::read(folder.join("golden/statistics.json")).expect("readable");
    let golden: Golden = serde_json::from_slice(&text).expect("as described");
    let same = |found: Option<f64>, expected: Option<f64>, what: &str| match (found, expected) {
        (Some(found), Some(expected)) => {
            assert!((found - expected).abs() < 1e-9, "{what}: {found} is not {expected}");
        }
        (found, expected) => assert_eq!(found, expected, "{what}"),
    };
    assert!(golden.agreement.len() >= 11, "{}", golden.agreement.len());
    for row in golden.agreement {
        let mut values: Vec<String> = row.ratings.iter().flatten().flatten().cloned().collect();
        values.sort();
        values.dedup();
        let number = |answer: &Option<String>| {
            let place = values.iter().position(|value| Some(value) == answer.as_ref())?;
            u8::try_from(place).ok()
        };
        let ratings: Vec<Vec<Answer>> =
            row.ratings.iter().map(|rater| rater.iter().map(number).collect()).collect();
        let units = units(&ratings);
        let doubled = units.iter().filter(|unit| unit.len() >= 2).count();
        assert_eq!(doubled, row.units_with_two_or_more, "{}", row.name);
        same(nominal_alpha(&units), row.krippendorff_alpha_nominal, &row.name);
        same(gwet_ac1(&units, None), row.gwet_ac1, &row.name);
        for pair in row.pairs {
            let [first, second] = pair.raters.map(|rater| &ratings[rater]);
            same(cohen_kappa(first, second), pair.cohen_kappa, &row.name);
            let both: Vec<_> =
                first.iter().zip(second).filter(|(a, b)| a.is_some() && b.is_some()).collect();
            assert_eq!(both.len(), pair.items_both_answered, "{}", row.name);
            let equal = both.iter().filter(|(a, b)| a == b).count() as u64;
            let observed =
                (!both.is_empty()).then(|| super::proportion::ratio(equal, both.len() as u64));
            same(observed, pair.observed_agreement, &row.name);
        }
    }
}
