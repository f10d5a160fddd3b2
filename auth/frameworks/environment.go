package frameworks

import (
	"cmp"
	"net/url"
	"os"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth"
)

// urlPath is the path of a URL, without a slash at its end; "" if it has none.
func urlPath(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return ""
	}
	return strings.TrimRight(u.EscapedPath(), "/")
}

// nextDefaults are the defaults of the full-stack integration: the variables of
// NextAuth.js count behind those of Auth.js, and the base path is that of the
// URL, or /api/auth.
func nextDefaults(c *auth.Config) error {
	site := cmp.Or(os.Getenv("AUTH_URL"), os.Getenv("NEXTAUTH_URL"))
	if c.URL == "" {
		c.URL = site
	}
	if c.BasePath == "" {
		c.BasePath = cmp.Or(urlPath(site), "/api/auth")
	}
	if len(c.Secret) == 0 {
		// The order of rotation is that of auth.SetEnvDefaults.
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

// ownBasePath makes a base path count unless the configuration has one; the path
// of AUTH_URL does not.
func ownBasePath(path string) func(*auth.Config) error {
	return func(c *auth.Config) error {
		c.BasePath = cmp.Or(c.BasePath, path)
		return nil
	}
}
