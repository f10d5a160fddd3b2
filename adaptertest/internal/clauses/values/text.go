package values

// invalidUTF8 holds bytes that are never UTF-8, a surrogate, an overlong slash
// and a character cut short.
var invalidUTF8 = []string{"\xff\xfe", "\xed\xa0\x80", "\xc0\xaf", "\xe2\x82"}
