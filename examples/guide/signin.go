package guide

import (
	"html/template"
	"net/http"

	"github.com/gatehouse-go/gatehouse/auth"
)

var signInTemplate = template.Must(template.New("").Parse(`<!doctype html><html lang="{{.Texts.Language}}" dir="{{.Direction}}"><title>{{.Site}}</title>
{{define "hidden"}}<input type="hidden" name="csrfToken" value="{{.CSRFToken}}"><input type="hidden" name="callbackUrl" value="{{.CallbackURL}}">{{end}}
{{with .Message}}<p role="alert">{{.}}</p>{{end}}
{{range .Buttons}}<form action="{{.URL}}" method="post">{{template "hidden" $}}<button>{{.Mark}} {{.Name}}</button></form>{{end}}
{{range .ByAddress}}<form action="{{.URL}}" method="post">{{template "hidden" $}}
	<label>{{$.Texts.Common.Address}} <input name="email" type="email" value="{{$.Typed}}" autocomplete="username"></label>
	{{range .Fields}}{{if eq .Type "password"}}<input name="{{.Name}}" type="password" autocomplete="current-password"
		aria-label="{{$.Texts.Password.Label}}">{{end}}{{end}}
	<button>{{$.Texts.Common.Continue}}</button></form>
	{{range .Links}}<a href="{{.URL}}">{{.Text}}</a>{{end}}{{end}}
{{range .Forms}}<form action="{{.URL}}" method="post">{{template "hidden" $}}
	{{range .Fields}}<label>{{.Label}} <input name="{{.Name}}" type="{{.Type}}"{{if .Identifier}} value="{{$.Typed}}"{{end}}></label>{{end}}
	<button>{{.Name}}</button></form>{{end}}`))

// signInPage is a sign-in page of the site, at the path that Config.Pages.SignIn names.
func signInPage(gate *auth.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		data, err := gate.SignInData(w, r)
		if err != nil {
			auth.Unavailable(w, r)
			return
		}
		_ = signInTemplate.Execute(w, data)
	}
}
