//! The machine a run happened on, as the report names it.

/// What the processor has that floating-point and quantised arithmetic may depend on, in a fixed order.
pub(in crate::sighted) fn cpu_features() -> Vec<String> {
    let mut found = Vec::new();
    macro_rules! ask {
        ($detect:ident: $($name:tt)*) => {
            $(if std::arch::$detect!($name) { found.push($name.to_owned()); })*
        };
    }
    #[cfg(target_arch = "x86_64")]
    ask!(is_x86_feature_detected: "sse4.1" "avx" "f16c" "fma" "avx2" "avxvnni" "avx512f" "avx512bw" "avx512vnni" "avx512bf16");
    #[cfg(target_arch = "aarch64")]
    ask!(is_aarch64_feature_detected: "neon" "fp16" "dotprod" "i8mm" "bf16" "sve");
    found
}

/// Operating system and, where it is known, its version.
pub(in crate::sighted) fn platform() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let system = std::env::consts::OS;
    match release.trim() {
        "" => system.to_owned(),
        release => format!("{system} {release}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_says_the_same_twice() {
        assert_eq!(cpu_features(), cpu_features());
        assert!(platform().starts_with(std::env::consts::OS));
    }
}
