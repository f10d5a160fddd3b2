package authjs

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// typesOf is the comment of SchemaChanges of MySQL about the fields of a model.
var typesOf = regexp.MustCompile(`/\* (?:schema\.prisma|the schema of Drizzle), (\w+): (.*) \*/`)

// modelOf is its comment about the table of passwords. Prisma's has a line for another model.
var modelOf = regexp.MustCompile(`/\* (?:schema\.prisma, model (\w+): (.*?); |the schema of Drizzle: )` +
	`((?:model|mysqlTable).*) \*/`)

var (
	typeOfPrisma  = regexp.MustCompile(`^(\s*\w+\s+)\S+((?:\s+@db\.\w+(?:\(\d+\))?)?)`)
	typeOfDrizzle = regexp.MustCompile(`^(\s*\w+: )\w+\([^)]*\)`)
)

// WithTypes changes a schema file of Prisma or Drizzle as the comments of SchemaChanges of
// MySQL say: a field gets another type, and the rest of its line stays; other fields are
// new. A new model is added at the end.
func WithTypes(t *testing.T, file string, changes []string) string {
	t.Helper()
	lines := strings.Split(file, "\n")
	field := func(model, line string) {
		begin := slices.IndexFunc(lines, func(l string) bool {
			return strings.HasPrefix(l, "model "+model+" {") || strings.Contains(l, `mysqlTable("`+model+`", {`)
		})
		require.GreaterOrEqualf(t, begin, 0, "the schema file has no %s", model)
		end := begin + slices.IndexFunc(lines[begin:], func(l string) bool { return strings.HasPrefix(l, "}") })
		name, kind, _ := strings.Cut(line, " ")
		pattern, comma := typeOfPrisma, ""
		if strings.HasSuffix(name, ":") {
			pattern, comma = typeOfDrizzle, ","
		}
		for i := begin + 1; i < end; i++ {
			if has := strings.Fields(lines[i]); len(has) > 0 && has[0] == name {
				lines[i] = pattern.ReplaceAllStringFunc(lines[i], func(old string) string {
					return pattern.FindStringSubmatch(old)[1] + kind
				})
				return
			}
		}
		lines = slices.Insert(lines, end, "  "+line+comma)
	}
	for _, change := range changes {
		for _, found := range typesOf.FindAllStringSubmatch(change, -1) {
			for line := range strings.SplitSeq(found[2], "; ") {
				field(found[1], line)
			}
		}
		for _, found := range modelOf.FindAllStringSubmatch(change, -1) {
			model := found[3]
			if found[1] != "" {
				field(found[1], found[2])
				model = strings.NewReplacer("{ ", "{\n", "; ", "\n", " }", "\n}").Replace(model) // one field on a line
			} else if users := usersTable.FindStringSubmatch(file); users != nil {
				model = "export const passwords = " + strings.ReplaceAll(model, "users.", users[1]+".")
			}
			lines = append(lines, model)
		}
	}
	return strings.Join(lines, "\n")
}
