package mongo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"
	driver "go.mongodb.org/mongo-driver/v2/mongo/options"
)

// check checks, once, that the adapter can work with the database: the rights of the
// database user, the kinds of the collections, and how others have stored their values.
func (s *site) check(ctx context.Context) error {
	if s.checked.Load() {
		return nil
	}
	if err := s.checkRights(ctx, s.rights); err != nil {
		return err
	}
	specs, all, err := s.collectionsThere(ctx)
	if err != nil {
		return err
	}
	if err := s.checkKinds(specs); err != nil {
		return err
	}
	values, err := s.sample(ctx)
	if err != nil {
		return err
	}
	if err := s.checkValues(values); err != nil {
		return err
	}
	if err := s.checkBeside(ctx, specs, all, values); err != nil {
		return err
	}
	if err := s.checkEmailIndex(ctx); err != nil {
		return err
	}
	if err := s.checkPasswords(ctx, specs); err != nil {
		return err
	}
	s.checked.Store(true)
	return nil
}

// absent returns the error of a call that looks up nothing, because its key can't be the
// key of a record.
func (s *site) absent(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.check(ctx)
}

// The rights of the methods, which are actions of a privilege.
const (
	rightFind   = "find"
	rightInsert = "insert"
	rightUpdate = "update"
	rightRemove = "remove"

	rightListCollections = "listCollections" // on the database, until somebody is stored

	// Of EnsureIndexes and CheckIndexes.
	rightListIndexes = "listIndexes"
	rightCreateIndex = "createIndex"
	rightDropIndex   = "dropIndex"
)

// rights returns the rights that the methods need on a collection.
func (s *site) rights(c collection) []string {
	if c.Name() == s.tokens.Name() {
		return []string{rightFind, rightInsert, rightRemove}
	}
	return []string{rightFind, rightInsert, rightUpdate, rightRemove}
}

// builtInRoles can't be changed.
var builtInRoles = []string{"read", "readWrite", "dbAdmin", "dbOwner", "userAdmin", "readAnyDatabase", "readWriteAnyDatabase", "dbAdminAnyDatabase",
	"clusterMonitor", "clusterManager", "clusterAdmin", "backup", "restore", "root"}

// privilege is what a database user may do with a resource.
type privilege struct {
	Resource struct {
		DB         *string `bson:"db"`
		Collection *string `bson:"collection"`
		Any        bool    `bson:"anyResource"`
	} `bson:"resource"`
	Actions []string `bson:"actions"`
}

// allows reports whether the privilege has the right on the collection.
func (p privilege) allows(right string, c collection) bool {
	r := p.Resource
	on := r.Any || r.DB != nil && r.Collection != nil &&
		(*r.DB == "" || *r.DB == c.Database().Name()) && (*r.Collection == "" || *r.Collection == c.Name())
	return on && slices.Contains(p.Actions, right)
}

// checkRights names the needed rights that the database user lacks. Without users on the
// server, or on a server that does not answer the question, the operations themselves show
// it.
func (s *site) checkRights(ctx context.Context, needed func(collection) []string) error {
	of := s.all()
	if !s.others() {
		of = append(of, s.passwords)
	}
	lacks, err := s.lacksRights(ctx, of, needed)
	if err != nil || lacks == "" {
		return err
	}
	return errors.New(lacks)
}

// lacksRights says which rights on collections the database user lacks, or nothing.
func (s *site) lacksRights(ctx context.Context, of []collection, needed func(collection) []string) (string, error) {
	var status struct {
		Info struct {
			Users []bson.Raw `bson:"authenticatedUsers"`
			Roles []struct {
				Role string `bson:"role"`
				DB   string `bson:"db"`
			} `bson:"authenticatedUserRoles"`
			Privileges []privilege `bson:"authenticatedUserPrivileges"`
		} `bson:"authInfo"`
	}
	ask := bson.D{{Key: "connectionStatus", Value: int32(1)}, {Key: "showPrivileges", Value: true}}
	err := s.users.done(ctx, "connectionStatus", s.command(ctx, ask).Decode(&status))
	var said *refusal
	if errors.As(err, &said) {
		return "", nil
	}
	if err != nil || len(status.Info.Users) == 0 {
		return "", err
	}
	var lacks []string
	var grants bson.A
	for _, c := range of {
		var rights bson.A
		for _, right := range needed(c) {
			if !slices.ContainsFunc(status.Info.Privileges, func(p privilege) bool { return p.allows(right, c) }) {
				lacks = append(lacks, right+" on "+strings.TrimSuffix(c.Database().Name()+"."+c.Name(), "."))
				rights = append(rights, right)
			}
		}
		if len(rights) > 0 {
			on := bson.D{{Key: "db", Value: c.Database().Name()}, {Key: "collection", Value: c.Name()}}
			grants = append(grants, bson.D{{Key: "resource", Value: on}, {Key: "actions", Value: rights}})
		}
	}
	if len(lacks) == 0 {
		return "", nil
	}
	advice := "give it the role readWrite, or one with these rights"
	for _, r := range status.Info.Roles {
		if !slices.Contains(builtInRoles, r.Role) {
			grant := bson.D{{Key: "grantPrivilegesToRole", Value: r.Role}, {Key: "privileges", Value: grants}}
			advice = fmt.Sprintf("in the database %s run %s", r.DB, shell(grant))
			break
		}
	}
	return fmt.Sprintf("the database user lacks rights: %s: %s", strings.Join(lacks, ", "), advice), nil
}

// command runs a command without the options of the client.
func (s *site) command(ctx context.Context, command bson.D) *mgo.SingleResult {
	return s.users.Database().RunCommand(abortable{ctx}, command)
}

// collectionsThere returns the collections of the adapter, and those whose names are like
// names of another authentication library. A database user without the right to list all
// sees those that it may use, without their options.
func (s *site) collectionsThere(ctx context.Context) (specs []mgo.CollectionSpecification, all bool, err error) {
	db := s.users.Database()
	filter := bson.D{{Key: "$or", Value: bson.A{
		bson.D{{Key: "name", Value: bson.D{{Key: "$in", Value: append(s.collectionNames(), s.passwords.Name())}}}},
		bson.D{{Key: "name", Value: bson.D{{Key: "$regex", Value: s.besidePattern()}, {Key: "$options", Value: "i"}}}},
	}}}
	specs, err = db.ListCollectionSpecifications(abortable{ctx}, filter)
	if err = s.users.done(ctx, rightListCollections, err); !isCode(err, unauthorized) {
		return specs, true, err
	}
	own := driver.ListCollections().SetNameOnly(true).SetAuthorizedCollections(true)
	specs, err = db.ListCollectionSpecifications(abortable{ctx}, filter, own)
	if err = s.users.done(ctx, rightListCollections, err); isCode(err, unauthorized) {
		return nil, false, nil
	}
	return specs, false, err
}

func (s *site) collectionNames() (names []string) {
	for _, c := range s.all() {
		names = append(names, c.Name())
	}
	return names
}

// checkKinds refuses all kinds of collections except plain ones.
func (s *site) checkKinds(specs []mgo.CollectionSpecification) error {
	var problems []error
	for _, spec := range specs {
		if slices.Contains(s.collectionNames(), spec.Name) {
			problems = append(problems, s.checkKind(spec))
		}
	}
	return errors.Join(problems...)
}

// checkKind refuses a view and a time series, which can't be changed record by record, a
// capped collection, which removes its oldest records when it is full, and one with a
// collation, where two different keys may be equal.
func (s *site) checkKind(spec mgo.CollectionSpecification) error {
	var problems []error
	if capped, _ := spec.Options.Lookup("capped").BooleanOK(); capped {
		problems = append(problems, fmt.Errorf("the collection %s is capped, so it drops records when it is full: %s", spec.Name, copied(spec.Name)))
	}
	if spec.Type != "collection" {
		problems = append(problems, fmt.Errorf("%s is a %s, not a collection: choose other names with WithCollections or WithPrefix", spec.Name, spec.Type))
	}
	if collation, ok := spec.Options.Lookup("collation").DocumentOK(); ok {
		problems = append(problems, fmt.Errorf("the collection %s compares texts by the rules of a language (collation %s), so two different keys may be equal: %s",
			spec.Name, collation, copied(spec.Name)))
	}
	return errors.Join(problems...)
}

// copied is the advice that copies the records of a collection into a plain one with the same name.
func copied(name string) string {
	aside := name + "_aside"
	out := func(from, into string) string {
		return shell(bson.D{{Key: "aggregate", Value: from}, {Key: "pipeline", Value: bson.A{op("$out", into)}}, {Key: "cursor", Value: bson.D{}}})
	}
	drop := func(name string) string { return shell(bson.D{{Key: "drop", Value: name}}) }
	return "stop the site and run " + strings.Join([]string{out(name, aside), drop(name), out(aside, name), drop(aside)}, "; ")
}
