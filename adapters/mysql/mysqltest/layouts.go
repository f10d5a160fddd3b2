package mysqltest

import (
	"context"
	"regexp"
	"strings"

	"github.com/gatehouse-go/gatehouse/adapters/mysql"
)

// layout returns the layout of the site, and the script that makes its tables.
func (s Settings) layout() (layout mysql.Layout, script string) {
	switch s.Site {
	case "Prisma":
		layout, script = mysql.Prisma(), PrismaTables
	case "Drizzle":
		layout, script = mysql.Drizzle(), DrizzleTables
	}
	if s.NoForeignKeys {
		script, _, _ = strings.Cut(script, "ALTER TABLE")
		for _, table := range []string{"Account", "Session", "Authenticator"} { // as Prisma asks for with relationMode = "prisma"
			script += "ALTER TABLE `" + table + "` ADD INDEX (`userId`);\n"
		}
	}
	return layout, script
}

// options are those of the store with a prefix.
func (e *Env) options(prefix string) (options []mysql.Option) {
	if prefix != "" {
		options = append(options, mysql.WithPrefix(prefix))
	}
	if layout, _ := e.layout(); e.Site != "" {
		options = append(options, mysql.WithLayout(layout))
	}
	return options
}

// tableNames are the names of the tables, by the adapter's names.
func (e *Env) tableNames() map[string]string {
	if e.Site == "" {
		return map[string]string{"user": "user", "account": "account", "session": "session",
			"verificationToken": "verificationToken", "authenticator": "authenticator", "passwords": "passwords"}
	}
	l, _ := e.layout()
	names := map[string]string{"user": l.Users, "account": l.Accounts, "session": l.Sessions,
		"verificationToken": l.VerificationTokens, "authenticator": l.Authenticators}
	if !e.AsTheyAre {
		names["passwords"] = "passwords"
	}
	return names
}

var namesOfScript = regexp.MustCompile("(TABLE|REFERENCES|CONSTRAINT) `")

// makeSite makes the tables of the site with a prefix, with what SchemaChanges adds unless they
// are served as they are.
func (e *Env) makeSite(ctx context.Context, prefix string) error {
	if e.Site == "" {
		return nil
	}
	_, script := e.layout()
	script = namesOfScript.ReplaceAllString(script, "$1 `"+prefix)
	for statement := range strings.SplitSeq(script, ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if _, err := e.Admin.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	if e.AsTheyAre {
		return nil
	}
	a, err := mysql.New(e.Admin, e.options(prefix)...)
	if err != nil {
		return err
	}
	changes, err := a.SchemaChanges(ctx)
	for _, change := range changes {
		if err == nil {
			_, err = e.Admin.ExecContext(ctx, change)
		}
	}
	return err
}
