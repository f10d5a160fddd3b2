package frameworks

import (
	"cmp"
	"net/url"
	"os"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth"
)

// urlPath returns the path of a URL without its final slash, or "" if it has
// none.
func urlPath(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return ""
	}
	return strings.TrimRight(u.EscapedPath(), "/")
}

// nextDefaults sets the defaults of the full-stack integration. The variables
// of Auth.js have precedence over those of NextAuth.js. The base path is the
// path of the URL, or /api/auth.
func nextDefaults(c *auth.Config) error {
	site := cmp.Or(os.Getenv("AUTH_URL"), os.Getenv("NEXTAUTH_URL"))
	if c.URL == "" {
		c.URL = site
	}
	if c.BasePath == "" {
		c.BasePath = cmp.Or(urlPath(site), "/api/auth")
	}
	if len(c.Secret) == 0 {
		// The order of rotation is the same as in auth.SetEnvDefaults.
		for _, s := range []string{
			os.Getenv("AUTH_SECRET_3"), os.Getenv("AUTH_SECRET_2"), os.Getenv("AUTH_SECRET_1"),
			cmp.Or(os.Getenv("AUTH_SECRET"), os.Getenv("NEXTAUTH_SECRET")),
		} {
			if s != "" {
				c.Secret = append(c.Secret, s)
			}
		}
	}
	return nil
}

// ownBasePath sets a base path unless the configuration has one. It ignores the
// path of AUTH_URL.
func ownBasePath(path string) func(*auth.Config) error {
	return func(c *auth.Config) error {
		c.BasePath = cmp.Or(c.BasePath, path)
		return nil
	}
}
