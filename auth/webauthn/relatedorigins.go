package webauthn

import (
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/gatehouse-go/gatehouse/auth"
)

// maxOriginLabels is the number of labels that browsers must support in the
// list of related origins; Chromium supports no more (WebAuthn Level 3, section
// 5.11). A label is the registered name without its public suffix: the label of
// https://app.example.co.uk is example.
const maxOriginLabels = 5

// checkOrigins reports a relying party whose origins have more labels than
// browsers read.
func checkOrigins(list []auth.RelyingParty) error {
	labels := map[string]map[string]bool{}
	for _, rp := range list {
		if labels[rp.ID] == nil {
			labels[rp.ID] = map[string]bool{}
		}
		for _, origin := range rp.Origins {
			if !strings.HasPrefix(origin, "android:") { // it is in no list for browsers
				labels[rp.ID][originLabel(origin)] = true
			}
		}
		if n := len(labels[rp.ID]); n > maxOriginLabels {
			return fmt.Errorf("the relying party %q has origins with %d different names, such as example in https://app.example.com; browsers accept the first %d and ignore the others",
				rp.ID, n, maxOriginLabels)
		}
	}
	return nil
}

// originLabel returns the label of an origin, or its host if it has none.
func originLabel(origin string) string {
	u, err := url.Parse(origin)
	if err != nil {
		return origin // New refuses such an origin with its own error
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(u.Hostname())
	if err != nil {
		return u.Hostname()
	}
	label, _, _ := strings.Cut(domain, ".")
	return label
}
