package main

import (
	"context"
	"fmt"
	"html/template"
	"log"
	"net/http"
	"sync"

	"github.com/gatehouse-go/gatehouse/auth"
)

// mailbox stores mails and does not send them. A real site sets Email.Server.
type mailbox struct {
	mu    sync.Mutex
	mails []mail
}

type mail struct{ To, Subject, URL string }

func (m *mailbox) receive(_ context.Context, p auth.VerificationRequest) error {
	message, err := auth.EmailMessage(p)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mails = append([]mail{{To: p.Identifier, Subject: message.Subject, URL: p.URL}}, m.mails...)
	fmt.Printf("mail to %s: %s\n", p.Identifier, p.URL)
	return nil
}

var mailPage = template.Must(template.New("").Parse(`<!doctype html><html lang="en"><meta charset="utf-8"><title>Mailbox</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>:root{color-scheme:light dark}body{font:18px/1.6 system-ui;max-width:34em;margin:3em auto;padding:0 1em}</style>
<h1>Mailbox</h1>{{range .}}<p>To {{.To}}: <a class="link" href="{{.URL}}">{{.Subject}}</a></p>{{else}}<p>No mail yet.</p>{{end}}
<p><a href="/">Back to the site</a></p></html>`))

func (m *mailbox) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := mailPage.Execute(w, m.mails); err != nil {
		log.Print(err)
	}
}
