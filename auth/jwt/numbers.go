package jwt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
)

// digitsKept is the number of digits that every integer of a token keeps: a
// number there is a float64.
const digitsKept = 15

// checkNumbers returns an error if an integer in the payload would be another
// one after it is decoded (RFC 8259 section 6). It is for example the ID of
// another user then. The error names the claim.
func checkNumbers(payload []byte) error {
	if !hasLongNumber(payload) {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(payload))
	d.UseNumber()
	var claims map[string]any
	if err := d.Decode(&claims); err != nil {
		return err
	}
	for name, v := range claims {
		if changes(v) {
			return fmt.Errorf("jwt: the claim %q has an integer that a token can't hold exactly (beyond 2^53); store it as text", name)
		}
	}
	return nil
}

// hasLongNumber reports whether a text has more digits in a row than are kept.
func hasLongNumber(text []byte) bool {
	run := 0
	for _, c := range text {
		if c < '0' || c > '9' {
			run = 0
		} else if run++; run > digitsKept {
			return true
		}
	}
	return false
}

// changes reports whether a decoded value has an integer that becomes another
// one as a float64.
func changes(v any) bool {
	switch v := v.(type) {
	case json.Number:
		exact, ok := new(big.Int).SetString(v.String(), 10)
		f, err := v.Float64()
		if !ok || err != nil || strconv.FormatFloat(f, 'f', -1, 64) == v.String() { // a float64 is written so
			return false
		}
		held, _ := big.NewFloat(f).Int(nil)
		return held.Cmp(exact) != 0
	case map[string]any:
		for _, member := range v {
			if changes(member) {
				return true
			}
		}
	case []any:
		for _, element := range v {
			if changes(element) {
				return true
			}
		}
	}
	return false
}
