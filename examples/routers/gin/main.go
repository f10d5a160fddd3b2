// Gin is a site on gin-gonic/gin: a page with a greeting, a page that needs a
// sign-in, and form actions that sign in and out.
package main

import (
	"context"
	"html/template"
	"log"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/frameworks"
)

func main() {
	site, err := newSite(auth.Config{}) // AUTH_SECRET
	if err != nil {
		log.Fatal(err)
	}
	log.Print("open http://localhost:3000")
	log.Fatal(http.ListenAndServe("localhost:3000", site))
}

func newSite(config auth.Config) (http.Handler, error) {
	config.Providers = []auth.Provider{&auth.Credentials{Authorize: authorize}}
	ui, err := frameworks.CompiledUIAuth(frameworks.CompiledUIConfig{Config: config})
	if err != nil {
		return nil, err
	}
	protect, err := ui.Protect("/private")
	if err != nil {
		return nil, err
	}
	g := gin.New()
	g.SetHTMLTemplate(page)
	g.Use(adapt(ui.Handle), adapt(protect))
	g.GET("/", func(c *gin.Context) {
		session, err := ui.Session(c.Request.Context())
		if err != nil {
			c.AbortWithStatus(http.StatusServiceUnavailable)
			return
		}
		c.HTML(http.StatusOK, "home", session)
	})
	g.GET("/private", func(c *gin.Context) {
		session, err := ui.Session(c.Request.Context())
		if err != nil || session == nil { // protect has checked the session
			c.AbortWithStatus(http.StatusUnauthorized)
			return
		}
		c.String(http.StatusOK, "For %s only.", session.User.Name)
	})
	g.POST("/signin", gin.WrapF(ui.SignIn))
	g.POST("/signout", gin.WrapF(ui.SignOut))
	return g, nil
}

// adapt turns a hook into a handler of gin.
func adapt(hook func(http.Handler) http.Handler) gin.HandlerFunc {
	return func(c *gin.Context) {
		passed := false
		hook(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			passed, c.Request = true, r
			c.Writer = writer{c.Writer, w}
			c.Next()
			auth.KeepPrivate(r.Context(), c.Writer.Header()) // for a response without a body
		})).ServeHTTP(c.Writer, c.Request)
		if !passed {
			c.Abort()
		}
	}
}

// writer writes through the ResponseWriter of a hook, which keeps what was made
// with a session out of shared caches.
type writer struct {
	gin.ResponseWriter
	hook http.ResponseWriter
}

func (w writer) Write(b []byte) (int, error)       { return w.hook.Write(b) }
func (w writer) WriteString(s string) (int, error) { return w.hook.Write([]byte(s)) }
func (w writer) WriteHeaderNow()                   { w.hook.WriteHeader(w.Status()); w.ResponseWriter.WriteHeaderNow() }
func (w writer) Flush()                            { _ = http.NewResponseController(w.hook).Flush() }

var page = template.Must(template.New("home").Funcs(frameworks.Functions()).Funcs(template.FuncMap{
	"fields": func() template.HTML { return `<input name="username"> <input name="password" type="password">` },
}).Parse(`<!doctype html>
{{with .}}<p>Hello, {{.User.Name}}!</p>{{SignOut "redirectTo" "/"}}{{else}}<p>Hello, stranger.</p>
{{SignIn "provider" "credentials" "redirectTo" "/" "credentials" fields}}{{end}}`))

func authorize(_ context.Context, form auth.Form, _ *http.Request) (*auth.User, error) {
	if form.Get("username") != "ada" || form.Get("password") != "lovelace" {
		return nil, nil
	}
	return &auth.User{ID: "1", Name: "Ada", Email: "ada@example.com"}, nil
}
