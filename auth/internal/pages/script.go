package pages

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"html/template"

	"github.com/gatehouse-go/gatehouse/auth/client"
)

// script is a module in a page, with the part of the page's policy that allows
// it to run.
type script struct {
	element template.HTML
	policy  string
}

func newScript(source string) script {
	hash := sha256.Sum256([]byte(source))
	return script{
		element: template.HTML(`<script type="module">` + source + "</script>"), // only our own source
		policy:  "; script-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'",
	}
}

// sends allows a script to send requests to the site.
func (s script) sends() script {
	s.policy += "; connect-src 'self'"
	return s
}

// show.js shows what is typed as a password, if a person wants it.
//
//go:embed show.js
var show string

const enhanceForms = "\nfor (const form of document.querySelectorAll(\"form[data-passkey]\")) enhance(form);\n"

var (
	signInScript   = newScript(client.Passkey + enhanceForms).sends()
	showScript     = newScript(show)
	bothScripts    = newScript(client.Passkey + enhanceForms + show).sends()
	passkeysScript = newScript(client.Passkey + "\nfor (const button of document.querySelectorAll(\"button[data-passkey-add]\")) enhanceAdd(button);\nforgetRemoved();\n").sends()
)

// PasskeyTexts are the sentences of the script, as a JSON object.
func (l *Look) PasskeyTexts() string {
	t := &l.T.Passkeys.Errors
	b, err := json.Marshal(map[string]string{
		"limited": t.TooMany, "notUsed": t.NotUsed, "notCreated": t.NotCreated, "exists": t.Exists, "wrongSite": t.WrongSite,
		"notSupported": t.NotSupported, "failed": t.Failed,
	})
	if err != nil {
		panic(err) // texts always encode
	}
	return string(b)
}
