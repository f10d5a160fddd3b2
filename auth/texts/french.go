package texts

// French returns the French texts.
func French() Texts {
	return Texts{
		Language: "fr",
		Common: Common{
			SignIn:         "Se connecter",
			SignInWith:     "Se connecter avec {provider}",
			Continue:       "Continuer",
			Cancel:         "Annuler",
			SignedInAs:     "Vous êtes connecté en tant que {person}.",
			NotSignedIn:    "Vous n’êtes pas connecté.",
			Address:        "E-mail",
			AddressExample: "nom@exemple.fr",
			CheckMail:      "Consultez votre messagerie",
			Credentials:    "vos identifiants",
		},
		SignIn: SignIn{
			Title:              "Se connecter à {site}",
			Or:                 "ou",
			MailLink:           "Recevoir un lien par e-mail",
			MailLinkBy:         "Recevoir un lien par e-mail avec {provider}",
			Passkey:            "Se connecter avec une clé d’accès",
			CreatePasskey:      "Créer une clé d’accès",
			PasskeyNeedsScript: "Pour vous connecter avec une clé d’accès, activez JavaScript.",
			Errors: SignInErrors{
				OtherAccount: "Essayez de vous connecter avec un autre compte.",
				NotLinked: "Pour confirmer votre identité, connectez-vous avec le compte que vous avez utilisé " +
					"la première fois.",
				PasskeyNotLinked: "Connectez-vous comme vous l’avez fait jusqu’ici. Ensuite, vous pourrez " +
					"ajouter une clé d’accès.",
				MailNotSent: "L’e-mail n’a pas pu être envoyé.",
				AddressRefused: "L’e-mail n’a pas pu être envoyé. Vérifiez l’adresse et réessayez. Si l’adresse " +
					"est correcte, aucun e-mail ne peut être envoyé pour le moment.",
				Unavailable: "Ce moyen de connexion n’est pas joignable pour le moment. Réessayez ou " +
					"connectez-vous autrement.",
				NoForm: "Rien n’a été fait : le formulaire ne venait pas de ce navigateur ou est resté ouvert " +
					"trop longtemps. Veuillez réessayer.",
				Credentials:     "La connexion a échoué. Vérifiez les informations saisies.",
				SessionRequired: "Veuillez vous connecter pour accéder à cette page.",
				TwoPeople: "Ce navigateur avait des sessions de deux personnes à la fois ; personne n’a donc été " +
					"connecté. Les deux sessions sont terminées. Veuillez vous reconnecter.",
				Unknown: "Connexion impossible.",
			},
		},
		Password: Password{
			Show:    "Afficher le mot de passe",
			Label:   "Mot de passe",
			Current: "Mot de passe actuel",
			New:     "Nouveau mot de passe",

			Forgotten:     "Mot de passe oublié ?",
			CreateAccount: "Créer un compte",
			StaySignedIn:  "Rester connecté",
			Rule: Plural{
				One:   "Au moins {n} caractère. Plusieurs mots faciles à retenir conviennent bien.",
				Other: "Au moins {n} caractères. Plusieurs mots faciles à retenir conviennent bien.",
			},
			Wrong:        "L’adresse ou le mot de passe n’est pas correct.",
			CurrentWrong: "Ce n’est pas votre mot de passe actuel.",
			TooShort: Plural{
				One:   "Ce mot de passe est trop court. Il doit avoir au moins {n} caractère.",
				Other: "Ce mot de passe est trop court. Il doit avoir au moins {n} caractères.",
			},
			TooLong: Plural{
				One:   "Ce mot de passe est trop long. Il peut avoir au plus {n} caractère.",
				Other: "Ce mot de passe est trop long. Il peut avoir au plus {n} caractères.",
			},
			Common: "Beaucoup de gens utilisent ce mot de passe ; il est facile à deviner. Veuillez en choisir " +
				"un autre.",
			Personal: "Ce mot de passe est fait de votre adresse, de votre nom ou du nom de ce site ; il est " +
				"facile à deviner. Veuillez en choisir un autre.",
			Breached: "Ce mot de passe a été trouvé parmi des mots de passe volés ailleurs. Veuillez en choisir " +
				"un autre.",
			NotText: "Ce mot de passe contient un caractère qui ne peut pas être ressaisi. Veuillez en choisir un autre.",
			Equal:   "C’est déjà votre mot de passe. Veuillez en choisir un autre.",
			SignUp: Form{
				Title: "Créer un compte",
				Text: "Saisissez votre adresse e-mail. Nous vous envoyons un lien avec lequel vous choisirez " +
					"ensuite un mot de passe.",
				Button: "Continuer",
			},
			Reset: Form{
				Title: "Choisir un nouveau mot de passe",
				Text: "Saisissez votre adresse e-mail. Nous vous envoyons un lien pour choisir un nouveau mot de " +
					"passe.",
				Button: "Recevoir un lien par e-mail",
			},
			Choose: Form{
				Title:  "Choisir un mot de passe",
				Text:   "Vous vous connecterez à {site} avec {address} et ce mot de passe.",
				Button: "Enregistrer le mot de passe",
			},
			Change: Form{
				Title:  "Changer votre mot de passe",
				Text:   "Vous serez déconnecté partout ailleurs.",
				Button: "Changer le mot de passe",
			},
			Remove: Form{
				Title: "Supprimer votre mot de passe ?",
				Text: "Vous ne pourrez plus vous connecter à {site} avec ce mot de passe. Vos autres moyens de " +
					"connexion restent.",
				Button: "Supprimer le mot de passe",
			},
			Sent: "Si {address} peut être utilisée ici, un e-mail avec un lien est en route. Ouvrez le lien dans " +
				"ce navigateur si possible.",
			LinkInvalid: "Ce lien n’est plus valable. Il a peut-être déjà été utilisé, ou il est trop ancien. " +
				"Veuillez en demander un autre.",

			SignInAgain: "Pour changer cela, veuillez d’abord vous reconnecter.",
			None:        "Vous n’avez pas de mot de passe.",
			OnlyWay:     "Le mot de passe est votre seul moyen de connexion. Ajoutez-en d’abord un autre.",
		},
		Passkeys: Passkeys{
			Title:       "Vos clés d’accès",
			None:        "Vous n’en avez pas encore.",
			Add:         "Ajouter une clé d’accès",
			Unnamed:     "Clé d’accès",
			Created:     "Créée le {date}.",
			LastUsed:    "Utilisée pour la dernière fois le {date}.",
			BackedUp:    "Sauvegardée.",
			Syncable:    "Peut être sauvegardée.",
			OneDevice:   "Sur un seul appareil.",
			Name:        "Nom",
			Rename:      "Renommer",
			Renamed:     "La clé d’accès a un nouveau nom.",
			Remove:      "Supprimer",
			RemoveNamed: "Supprimer {name}",
			RemoveTitle: "Supprimer cette clé d’accès ?",
			RemoveText:  "Vous ne pourrez plus vous connecter à {site} avec {name}.",
			Removed:     "La clé d’accès a été supprimée. Elle ne permet plus de se connecter ici.",
			Errors: PasskeyErrors{
				OnlyWay:      "C’est votre seul moyen de connexion. Ajoutez d’abord une autre clé d’accès.",
				NotFound:     "Vous n’avez pas cette clé d’accès.",
				CannotChange: "Ce site ne peut pas modifier les clés d’accès.",
				BadName:      "Un nom doit avoir de 1 à 64 caractères affichables.",
				Unreadable:   "Le formulaire n’a pas pu être lu.",
				NotDone:      "Cela n’a pas fonctionné. Veuillez réessayer plus tard.",
				Expired:      "La demande a pris trop de temps, ou a déjà reçu une réponse. Veuillez réessayer.",
				Unknown: "Cette clé d’accès n’est pas connue ici. Supprimez-la de votre appareil, et " +
					"connectez-vous avec une autre ou autrement.",
				UserChanged: "Entre-temps, vous avez été connecté ou déconnecté. Veuillez réessayer.",
				Cloned: "Cette clé d’accès a peut-être été copiée ; elle a donc été refusée. Connectez-vous " +
					"autrement et remplacez-la.",
				BadAnswer: "La réponse du navigateur n’a pas pu être lue. Réessayez ou utilisez un autre " +
					"navigateur.",
				Refused:      "Cette clé d’accès n’a pas été acceptée. Réessayez ou connectez-vous autrement.",
				TooMany:      "Il y a eu trop d’essais. Attendez un peu.",
				NotUsed:      "Aucune clé d’accès n’a été utilisée. Réessayez, ou créez-en une si vous n’en avez pas.",
				NotCreated:   "Aucune clé d’accès n’a été créée. Réessayez.",
				Exists:       "Cet appareil a déjà une clé d’accès pour ce site. Connectez-vous avec elle.",
				WrongSite:    "Les clés d’accès ne fonctionnent pas à cette adresse du site.",
				NotSupported: "Cet appareil n’a pas de clé d’accès d’un type que le site accepte.",
				Failed:       "Cela n’a pas fonctionné. Rechargez la page et réessayez.",
			},
		},
		VerifyRequest: VerifyRequest{
			LinkSent: "Un lien de connexion a été envoyé à votre adresse e-mail.",
			CodeSent: "Un e-mail avec un lien de connexion et un code de six chiffres a été envoyé à votre " +
				"adresse. Ouvrez le lien, ou saisissez le code ici.",
			Code: "Code",
			WrongCode: "Ce code ne compte pas. Il est peut-être mal saisi, déjà utilisé, trop ancien ou d’un " +
				"autre e-mail ; cinq codes peuvent être essayés. Le lien de l’e-mail fonctionne toujours.",
			AskAgain: "Demander un autre e-mail",
		},
		ConfirmLink: ConfirmLink{
			Title: "Se connecter ?",
			Warning: "Ce navigateur n’a pas demandé le lien de connexion. Continuez seulement si vous l’avez " +
				"demandé vous-même, sur un autre appareil ou dans un autre navigateur.",
			Who:    "Vous serez connecté à {site} en tant que {address}.",
			Button: "Se connecter",
		},
		HeldAddress: HeldAddress{
			Title: "Cette adresse est déjà utilisée",
			Text: "Vous avez montré que {address} est à vous. Un utilisateur de ce site a déjà cette adresse et " +
				"ne l’a pas montré.",
			IsYou: "Si c’est vous, connectez-vous comme vous l’avez fait jusqu’ici :",
			IsYouConfirms: "Si c’est vous, connectez-vous comme vous l’avez fait jusqu’ici, et l’adresse sera " +
				"confirmée :",
			WithPasskey:    "Se connecter avec une clé d’accès",
			WithPassword:   "Se connecter avec un mot de passe",
			WithPasswordOf: "Se connecter avec un mot de passe ({provider})",
			OtherWays:      "Autres moyens de connexion",
			NotOffered:     "{provider} (n’est plus proposé ici)",
			NotYou: "Si ce n’est pas vous, ou si vous voulez recommencer, continuez comme nouvel utilisateur. " +
				"L’autre utilisateur garde tout sauf l’adresse.",
			Afresh: "Recommencer",
		},
		SignOut: SignOut{
			Title:  "Se déconnecter",
			Text:   "Voulez-vous vraiment vous déconnecter ?",
			Button: "Se déconnecter",
		},
		Failure: Failure{
			Title:       "Erreur",
			ServerTitle: "Quelque chose ne va pas ici",
			Server:      "Le problème vient de ce site, et non de ce que vous avez fait. Veuillez réessayer plus tard.",
			DeniedTitle: "Accès refusé",
			Denied:      "Vous n’avez pas l’autorisation de vous connecter.",
			StoreTitle:  "Non disponible",
			Store: "Le site ne peut pas le faire pour le moment. Personne n’a été connecté ni déconnecté. " +
				"Veuillez réessayer dans un instant.",
			NotFinished: "Connexion impossible",
			LinkInvalid: "Le lien de connexion n’est plus valable. Il a peut-être déjà été utilisé, ou il a " +
				"expiré.",
			Unavailable: "Ce moyen de connexion n’est pas joignable pour le moment ; la connexion n’a donc pas " +
				"été terminée.",
			NoAddress: "Aucune connexion ne commence ni ne finit à cette adresse.",
			TooLate: "Cette connexion n’a pas été terminée. Elle a peut-être pris trop de temps, a déjà été " +
				"terminée ou a commencé dans un autre navigateur.",
			Again:        "Pour vous connecter, veuillez réessayer.",
			AgainAsOther: "Pour vous connecter en tant que quelqu’un d’autre, veuillez réessayer.",
		},
		Refused: Refused{
			Title:        "Impossible",
			TooManyTitle: "Trop d’essais",
			TooMany:      "Il y a eu trop d’essais. Veuillez réessayer plus tard.",
			Wait: Span{
				Seconds: Plural{
					One:   "Vous pourrez réessayer dans {n} seconde.",
					Other: "Vous pourrez réessayer dans {n} secondes.",
				},
				Minutes: Plural{
					One:   "Vous pourrez réessayer dans {n} minute.",
					Other: "Vous pourrez réessayer dans {n} minutes.",
				},
				Hours: Plural{
					One:   "Vous pourrez réessayer dans {n} heure.",
					Other: "Vous pourrez réessayer dans {n} heures.",
				},
			},
			ForeignTitle: "Ne vient pas de ce site",
			Foreign: "La demande ne vient pas d’une page de ce site. Revenez en arrière, rechargez la page et " +
				"réessayez.",
			Busy:     "Le site a beaucoup à faire en ce moment. Veuillez réessayer bientôt.",
			TooLarge: "Ce qui a été envoyé est trop grand. Revenez en arrière et réessayez avec moins.",
			CannotSend: "Cette adresse peut être ouverte, mais rien ne peut y être envoyé de cette façon. " +
				"Revenez en arrière et réessayez.",
			Impossible: "Rien ne peut être fait avec cette adresse. Revenez en arrière et réessayez.",
		},
		Mail: Mail{
			SignIn: MailedLink{
				Subject: "Connexion à {site}",
				Text:    "Se connecter à {site}",
				Button:  "Se connecter",
				Ignore:  "Si vous n’avez pas demandé cet e-mail, vous pouvez l’ignorer.",
			},
			TypeCode: "Ou saisissez ce code dans le navigateur où vous avez demandé l’e-mail :",
			LinkValid: Span{
				Seconds: Plural{
					One:   "Le lien est valable {n} seconde.",
					Other: "Le lien est valable {n} secondes.",
				},
				Minutes: Plural{
					One:   "Le lien est valable {n} minute.",
					Other: "Le lien est valable {n} minutes.",
				},
				Hours: Plural{
					One:   "Le lien est valable {n} heure.",
					Other: "Le lien est valable {n} heures.",
				},
			},
			BothValid: Span{
				Seconds: Plural{
					One:   "Le lien et le code sont valables {n} seconde.",
					Other: "Le lien et le code sont valables {n} secondes.",
				},
				Minutes: Plural{
					One:   "Le lien et le code sont valables {n} minute.",
					Other: "Le lien et le code sont valables {n} minutes.",
				},
				Hours: Plural{
					One:   "Le lien et le code sont valables {n} heure.",
					Other: "Le lien et le code sont valables {n} heures.",
				},
			},
			AskedIn:        "L’e-mail a été demandé avec : {browser}, {system}.",
			UnknownBrowser: "navigateur inconnu",
			UnknownSystem:  "système inconnu",
			NeverAsk:       "Nous ne demandons jamais ce code. Ne le donnez à personne.",
			SignUp: MailedLink{
				Subject: "Votre compte à {site}",
				Text:    "Ouvrez le lien pour choisir le mot de passe de votre nouveau compte à {site}.",
				Button:  "Choisir un mot de passe",
				Ignore:  "Si vous n’avez pas demandé cet e-mail, vous pouvez l’ignorer. Aucun compte n’a été créé.",
			},
			SignUpKnown: MailedLink{
				Subject: "Votre compte à {site}",
				Text: "Quelqu’un, sans doute vous, a demandé un nouveau compte à {site} avec cette adresse. Vous " +
					"en avez déjà un. Avec le lien, vous pouvez choisir un nouveau mot de passe.",
				Button: "Choisir un nouveau mot de passe",
				Ignore: "Si vous n’avez pas demandé cet e-mail, vous pouvez l’ignorer. Rien n’a été changé.",
			},
			Reset: MailedLink{
				Subject: "Votre mot de passe à {site}",
				Text:    "Ouvrez le lien pour choisir un nouveau mot de passe à {site}.",
				Button:  "Choisir un nouveau mot de passe",
				Ignore: "Si vous n’avez pas demandé cet e-mail, vous pouvez l’ignorer. Votre mot de passe reste " +
					"le même.",
			},
			PasswordChanged: Notice{
				Subject: "Votre mot de passe à {site} a été changé",
				Text: "Le mot de passe de votre compte à {site} a été changé. Vous avez été déconnecté partout " +
					"ailleurs.",
				NotYou: "Si ce n’était pas vous, choisissez maintenant un nouveau mot de passe à {site}.",
			},
			PasswordRemoved: Notice{
				Subject: "Votre mot de passe à {site} a été supprimé",
				Text: "Le mot de passe de votre compte à {site} a été supprimé. Vous avez été déconnecté partout " +
					"ailleurs.",
				NotYou: "Si ce n’était pas vous, connectez-vous maintenant à {site} autrement et vérifiez votre " +
					"compte.",
			},
		},
	}
}
