package webauthn

import (
	"bytes"
	"encoding/json"
	"strings"
)

// clientMembers are the members of client data on which the acceptance of an
// answer depends (WebAuthn Level 3, section 5.8.1).
var clientMembers = []string{"type", "challenge", "origin", "crossOrigin", "topOrigin"}

// checkMembers checks the names in client data. encoding/json compares names
// without regard to case, and takes the last of several. checkMembers therefore
// refuses a name that appears twice or in another case: two readers could
// understand different things. It refuses topOrigin too, even an empty one,
// because browsers send it only if the page was in a frame of another site.
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
