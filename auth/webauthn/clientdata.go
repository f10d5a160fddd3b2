package webauthn

import (
	"bytes"
	"encoding/json"
	"strings"
)

// clientMembers are the members of client data that decide whether an answer
// counts (WebAuthn Level 3, section 5.8.1).
var clientMembers = []string{"type", "challenge", "origin", "crossOrigin", "topOrigin"}

// checkMembers reads the names in client data, which encoding/json compares
// without regard to case, and of which it takes the last. It refuses a name that
// is there twice, or in another case: two readers could understand different
// things. It refuses topOrigin, too, also an empty one, because that is there
// only if the page was in a frame of another site.
func checkMembers(clientData []byte) error {
	d := json.NewDecoder(bytes.NewReader(clientData))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return errMalformed
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return errMalformed
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return errMalformed
		}
		for _, member := range clientMembers {
			if !strings.EqualFold(name, member) {
				continue
			}
			if name != member || seen[member] {
				return errAmbiguous
			}
			seen[member] = true
		}
	}
	if seen["topOrigin"] {
		return errFramed
	}
	return nil
}
