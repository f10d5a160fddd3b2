package auth

import (
	"slices"
	"unicode/utf8"
)

// minSecret is the least number of characters of a secret. Everybody gets a
// CSRF cookie, and with the hash in it can test guesses of the secret without
// asking the site. So a secret must be impossible to guess, also on the machine
// of a developer.
const minSecret = 32

// checkSecrets lists what is wrong with the secrets: a secret is missing, or is
// so short that it can be guessed.
func (c *Config) checkSecrets() []error {
	var problems []error
	problem := func(message string) {
		problems = append(problems, &Error{Type: ErrMissingSecret, Message: message})
	}
	if len(c.Secret) == 0 || slices.Contains(c.Secret, "") {
		problem("set Config.Secret or AUTH_SECRET to at least 32 random characters")
	}
	short := func(name string, secrets []string) {
		for i, s := range secrets {
			tail := i > 0 && c.DangerouslyAcceptShortSecrets
			if s != "" && utf8.RuneCountInString(s) < minSecret && !tail {
				problem(name + " has fewer than 32 characters, so it can be guessed; make one with openssl rand -hex 32")
				return
			}
		}
	}
	short("Config.Secret (AUTH_SECRET)", c.Secret)
	if !slices.Equal(c.JWT.Secret, c.Secret) {
		if slices.Contains(c.JWT.Secret, "") {
			problem("a secret of Config.JWT.Secret is empty")
		}
		short("Config.JWT.Secret", c.JWT.Secret)
	}
	for _, p := range c.Providers {
		if p, ok := p.(*Email); ok && p != nil {
			if slices.Contains(p.Secret, "") {
				problem("provider \"" + p.id() + "\": a Secret is empty")
			}
			short("provider \""+p.id()+"\": Secret", p.Secret)
		}
	}
	return problems
}
