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

// sitePath returns the path of AUTH_URL, or of NEXTAUTH_URL if AUTH_URL is not
// set, or "" if the URL has none.
func sitePath() string { return urlPath(cmp.Or(os.Getenv("AUTH_URL"), os.Getenv("NEXTAUTH_URL"))) }

// nextDefaults sets the base path of the full-stack integration: the path of
// the URL in the environment, or /api/auth.
func nextDefaults(c *auth.Config) error {
	c.BasePath = cmp.Or(c.BasePath, sitePath(), "/api/auth")
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
