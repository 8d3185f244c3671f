use super::library_in;

const LISTING: &str = "2 libs found in cache `/etc/ld.so.cache'
\tlibopenblas.so.0 (libc6) => /lib/i386-linux-gnu/libopenblas.so.0
\tlibopenblas.so.0 (libc6,x86-64) => /lib/x86_64-linux-gnu/libopenblas.so.0
\tlibopenblas64.so.0 (libc6,x86-64) => /lib/x86_64-linux-gnu/libopenblas64.so.0
";

#[test]
fn finds_the_64_bit_library_by_its_whole_name() {
    let check = |name, expected| assert_eq!(library_in(LISTING, name), expected, "{name}");
    check("libopenblas.so.0", Some("/lib/x86_64-linux-gnu/libopenblas.so.0"));
    check("libopenblas64.so.0", Some("/lib/x86_64-linux-gnu/libopenblas64.so.0"));
    check("libopenblas.so", None);
    check("", None);
}
