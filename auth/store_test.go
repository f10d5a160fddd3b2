package auth_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	gotoken "go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const modulePath = "github.com/gatehouse-go/gatehouse/auth"

// TestStoreIsTheOneDoor: only methods of store, and of its part for passwords, call the adapter, and no
// function that calls the store reads a request or makes a response. The test
// checks the types of the expressions in the package.
func TestStoreIsTheOneDoor(t *testing.T) {
	t.Parallel()
	checked := checkPackage(t)
	fromStore := 0
	for _, f := range checked.files {
		for _, d := range f.Decls {
			found := checked.lookAt(d)
			switch at, name := checked.fset.Position(d.Pos()), found.name; {
			case found.callsAdapter != "" && !isStore(found.receiver):
				t.Errorf("%s: %s calls %s of the adapter; only store may", at, name, found.callsAdapter)
			case found.http != "" && (found.callsStore != "" || isStore(found.receiver)):
				t.Errorf("%s: %s calls the store and has a value of type %s", at, name, found.http)
			case found.callsAdapter != "":
				fromStore++
			}
		}
	}
	assert.Truef(t, fromStore >= 10,
		"only %d functions were seen to call the adapter: the test does not see the calls", fromStore)
}

// isStore reports whether a type of the package is the store or a part of it.
func isStore(name string) bool { return name == "store" || name == "keptPasswords" }

// TestStoreTestSeesABreach: the check of TestStoreIsTheOneDoor finds a
// forbidden call, in each way that such a call can be written.
func TestStoreTestSeesABreach(t *testing.T) {
	t.Parallel()
	checked := checkPackage(t, `package auth
import ("context"; "net/http"; "github.com/gatehouse-go/gatehouse/auth/adapter")
func breachDirect(ctx context.Context, e *engine) { e.config.Adapter.GetUser(ctx, "1") }
func breachValue(e *engine) any { return e.config.Adapter.GetUser }
func breachPart(ctx context.Context, u adapter.Users) { u.GetUser(ctx, "1") }
func breachCapability(ctx context.Context, u adapter.SignUps) { u.CreateUserWithAccount(ctx, adapter.User{}, adapter.Account{}, nil) }
func breachRequest(ctx context.Context, e *engine, r *request) { e.store.user(ctx, r.origin) }
func breachField(ctx context.Context, e *engine, c *struct{ r *request }) { e.store.user(ctx, c.r.origin) }
func breachHTTP(e *engine, r *http.Request) { e.store.user(r.Context(), "1") }
func breachResult(ctx context.Context, e *engine) *Result { e.store.user(ctx, "1"); return nil }
func breachLiteral(ctx context.Context, e *engine, r *request) func() { return func() { e.store.user(ctx, r.origin) } }
func breachWriter(ctx context.Context, e *engine, w http.ResponseWriter) { e.store.user(ctx, "1") }
func honest(ctx context.Context, e *engine) { e.store.user(ctx, "1") }
`)
	for _, d := range checked.files[len(checked.files)-1].Decls {
		found := checked.lookAt(d)
		if found.name == "" {
			continue
		}
		breach := found.callsAdapter != "" || found.callsStore != "" && found.http != ""
		assert.NotEqualf(t, found.name == "honest", breach, "%s: breach", found.name)
	}
}

type checkedPackage struct {
	fset  *gotoken.FileSet
	files []*ast.File
	info  *types.Info
}

// checkPackage type-checks package auth without its tests, together with
// additional files.
func checkPackage(t *testing.T, further ...string) checkedPackage {
	t.Helper()
	exports := exportData(t)
	c := checkedPackage{fset: gotoken.NewFileSet(), info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}}
	names := must(filepath.Glob("*.go"))(t)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		c.files = append(c.files, must(parser.ParseFile(c.fset, name, nil, parser.SkipObjectResolution))(t))
	}
	for _, source := range further {
		c.files = append(c.files, must(parser.ParseFile(c.fset, "further.go", source, parser.SkipObjectResolution))(t))
	}
	config := types.Config{Importer: importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) {
		if file := exports[path]; file != "" {
			return os.Open(file)
		}
		return nil, errors.New("no export data of " + path)
	})}
	must(config.Check(modulePath, c.fset, c.files, c.info))(t)
	return c
}

// exportData finds the files with the compiler's export data of the packages
// that this package imports.
func exportData(t *testing.T) map[string]string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Export", ".")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	require.NoErrorf(t, err, "go list: %v\n%s", err, &stderr)
	exports := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p struct{ ImportPath, Export string }
		require.NoError(t, d.Decode(&p))
		exports[p.ImportPath] = p.Export
	}
	return exports
}

// behaviour is what the check needs to know about a function. Each text names
// the first finding.
type behaviour struct {
	name, receiver                 string
	callsAdapter, callsStore, http string
}

// lookAt examines a function and the function literals in it.
func (c checkedPackage) lookAt(d ast.Decl) behaviour {
	f, ok := d.(*ast.FuncDecl)
	if !ok {
		return behaviour{}
	}
	s := behaviour{name: f.Name.Name}
	if f.Recv != nil {
		s.receiver = strings.TrimPrefix(types.ExprString(f.Recv.List[0].Type), "*")
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if e, ok := n.(*ast.SelectorExpr); ok {
			if selected := c.info.Selections[e]; selected != nil && selected.Kind() != types.FieldVal {
				method := selected.Obj().(*types.Func)
				switch receiver := typeName(method.Signature().Recv().Type()); {
				case strings.HasPrefix(receiver, modulePath+"/adapter.") && types.IsInterface(method.Signature().Recv().Type()):
					s.callsAdapter = method.Name()
				case isStore(strings.TrimPrefix(receiver, modulePath+".")):
					s.callsStore = method.Name()
				}
			}
		}
		if e, ok := n.(ast.Expr); ok {
			switch name := typeName(c.info.TypeOf(e)); name {
			case "net/http.Request", "net/http.Response", "net/http.ResponseWriter", modulePath + ".request", modulePath + ".Result":
				s.http = name
			}
		}
		return true
	})
	return s
}

// typeName returns the package path and the name of a type, or of the type that
// it points to.
func typeName(t types.Type) string {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := t.(*types.Named); ok && n.Obj().Pkg() != nil {
		return n.Obj().Pkg().Path() + "." + n.Obj().Name()
	}
	return ""
}
