package main

import (
	"html/template"
	"log"
	"net/http"

	"github.com/gatehouse-go/gatehouse/auth"
)

var page = template.Must(template.New("").Parse(`<!doctype html><html lang="en"><meta charset="utf-8"><title>Gatehouse demo</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>:root{color-scheme:light dark}body{background:Canvas;font:18px/1.6 system-ui;max-width:34em;margin:3em auto;padding:0 1em}a{color:light-dark(#0645ad,#9ec1ff)}</style><main>
{{with .}}<h1>Hello, {{with .User.Name}}{{.}}{{else}}{{.User.Email}}{{end}}</h1>
<p>You are signed in until {{.Expires.Format "2 January 2006"}}. <a href="/members">Members</a>, <a href="/passkeys">passkeys</a>, <a href="/auth/signout">sign out</a>.</p>
{{else}}<h1>Nobody is signed in</h1><p><a href="/auth/signin">Sign in</a> or try the <a href="/members">members' page</a>.</p>{{end}}
<p>Mails that were sent: <a href="/mail">mailbox</a></p></main></html>`))

// show greets the user of the session.
func show(w http.ResponseWriter, session *auth.Session, err error) {
	if err != nil {
		http.Error(w, "try again later", http.StatusServiceUnavailable)
		return
	}
	if err := page.Execute(w, session); err != nil {
		log.Print(err)
	}
}
