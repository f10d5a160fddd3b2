package texts

// Spanish returns the Spanish texts.
func Spanish() Texts {
	return Texts{
		Language: "es",
		Common: Common{
			SignIn:         "Iniciar sesión",
			SignInWith:     "Iniciar sesión con {provider}",
			Continue:       "Continuar",
			Cancel:         "Cancelar",
			SignedInAs:     "Ha iniciado sesión como {person}.",
			NotSignedIn:    "No ha iniciado sesión.",
			Address:        "Correo electrónico",
			AddressExample: "nombre@ejemplo.es",
			CheckMail:      "Revise su correo",
			Credentials:    "credenciales",
		},
		SignIn: SignIn{
			Title:              "Iniciar sesión en {site}",
			Or:                 "o",
			MailLink:           "Enviarme un enlace por correo",
			MailLinkBy:         "Enviarme un enlace por correo con {provider}",
			Passkey:            "Iniciar sesión con una llave de acceso",
			CreatePasskey:      "Crear una llave de acceso",
			PasskeyNeedsScript: "Para iniciar sesión con una llave de acceso, active JavaScript.",
			Errors: SignInErrors{
				OtherAccount: "Intente iniciar sesión con otra cuenta.",
				NotLinked:    "Para confirmar su identidad, inicie sesión con la cuenta que usó la primera vez.",
				PasskeyNotLinked: "Inicie sesión como lo ha hecho hasta ahora. Después podrá añadir una llave de " +
					"acceso.",
				MailNotSent: "No se pudo enviar el correo.",
				AddressRefused: "No se pudo enviar el correo. Compruebe la dirección e inténtelo de nuevo. Si la " +
					"dirección es correcta, por ahora no se puede enviar ningún correo.",
				Unavailable: "Esta forma de iniciar sesión no está disponible en este momento. Inténtelo de " +
					"nuevo o inicie sesión de otra forma.",
				NoForm: "No se hizo nada: el formulario no vino de este navegador o estuvo abierto demasiado " +
					"tiempo. Inténtelo de nuevo.",
				Credentials:     "No se pudo iniciar sesión. Compruebe los datos que ha escrito.",
				SessionRequired: "Inicie sesión para ver esta página.",
				TwoPeople: "Este navegador tenía sesiones de dos personas a la vez, así que no se inició la " +
					"sesión de nadie. Las dos sesiones han terminado. Inicie sesión de nuevo.",
				Unknown: "No se puede iniciar sesión.",
			},
		},
		Password: Password{
			Show:    "Mostrar la contraseña",
			Label:   "Contraseña",
			Current: "Contraseña actual",
			New:     "Contraseña nueva",

			Forgotten:     "¿Ha olvidado la contraseña?",
			CreateAccount: "Crear una cuenta",
			StaySignedIn:  "Mantener la sesión iniciada",
			Rule: Plural{
				One:   "Al menos {n} carácter. Varias palabras fáciles de recordar son una buena elección.",
				Other: "Al menos {n} caracteres. Varias palabras fáciles de recordar son una buena elección.",
			},
			Wrong:        "La dirección o la contraseña no es correcta.",
			CurrentWrong: "Esta no es su contraseña actual.",
			TooShort: Plural{
				One:   "Esta contraseña es demasiado corta. Debe tener al menos {n} carácter.",
				Other: "Esta contraseña es demasiado corta. Debe tener al menos {n} caracteres.",
			},
			TooLong: Plural{
				One:   "Esta contraseña es demasiado larga. Puede tener como máximo {n} carácter.",
				Other: "Esta contraseña es demasiado larga. Puede tener como máximo {n} caracteres.",
			},
			Common: "Mucha gente usa esta contraseña, así que es fácil de adivinar. Elija otra.",
			Personal: "Esta contraseña se compone de su dirección, su nombre o el nombre de este sitio, así que " +
				"es fácil de adivinar. Elija otra.",
			Breached: "Esta contraseña se encontró entre contraseñas robadas en otros sitios. Elija otra.",
			NotText:  "Esta contraseña tiene un carácter que no se puede volver a escribir. Elija otra.",
			Equal:    "Esta ya es su contraseña. Elija otra.",
			SignUp: Form{
				Title: "Crear una cuenta",
				Text: "Escriba su dirección de correo. Le enviamos un enlace con el que después elige una " +
					"contraseña.",
				Button: "Continuar",
			},
			Reset: Form{
				Title:  "Elegir una contraseña nueva",
				Text:   "Escriba su dirección de correo. Le enviamos un enlace para elegir una contraseña nueva.",
				Button: "Enviarme un enlace por correo",
			},
			Choose: Form{
				Title:  "Elegir una contraseña",
				Text:   "Iniciará sesión en {site} con {address} y esta contraseña.",
				Button: "Guardar la contraseña",
			},
			Change: Form{
				Title:  "Cambiar su contraseña",
				Text:   "Se cerrará su sesión en todos los demás sitios.",
				Button: "Cambiar la contraseña",
			},
			Remove: Form{
				Title: "¿Eliminar su contraseña?",
				Text: "Ya no podrá iniciar sesión en {site} con esta contraseña. Sus otras formas de iniciar " +
					"sesión se mantienen.",
				Button: "Eliminar la contraseña",
			},
			Sent: "Si {address} se puede usar aquí, un correo con un enlace está en camino. Abra el enlace en " +
				"este navegador si puede.",
			LinkInvalid: "Este enlace ya no es válido. Puede que ya se haya usado o que sea demasiado antiguo. " +
				"Pida otro.",

			SignInAgain: "Para cambiar esto, primero inicie sesión de nuevo.",
			None:        "No tiene contraseña.",
			OnlyWay:     "La contraseña es su única forma de iniciar sesión. Añada otra primero.",
		},
		Passkeys: Passkeys{
			Title:       "Sus llaves de acceso",
			None:        "Todavía no tiene ninguna.",
			Add:         "Añadir una llave de acceso",
			Unnamed:     "Llave de acceso",
			Created:     "Creada el {date}.",
			LastUsed:    "Usada por última vez el {date}.",
			BackedUp:    "Con copia de seguridad.",
			Syncable:    "Puede tener copia de seguridad.",
			OneDevice:   "Solo en un dispositivo.",
			Name:        "Nombre",
			Rename:      "Cambiar el nombre",
			Renamed:     "La llave de acceso tiene un nombre nuevo.",
			Remove:      "Eliminar",
			RemoveNamed: "Eliminar {name}",
			RemoveTitle: "¿Eliminar esta llave de acceso?",
			RemoveText:  "Ya no podrá iniciar sesión en {site} con {name}.",
			Removed:     "La llave de acceso se ha eliminado. Ya no sirve para iniciar sesión aquí.",
			Errors: PasskeyErrors{
				OnlyWay:      "Esta es su única forma de iniciar sesión. Añada primero otra llave de acceso.",
				NotFound:     "No tiene esa llave de acceso.",
				CannotChange: "Este sitio no puede cambiar las llaves de acceso.",
				BadName:      "Un nombre debe tener de 1 a 64 caracteres que se puedan mostrar.",
				Unreadable:   "No se pudo leer el formulario.",
				NotDone:      "No ha funcionado. Inténtelo de nuevo más tarde.",
				Expired:      "La petición tardó demasiado o ya se respondió. Inténtelo de nuevo.",
				Unknown: "Esta llave de acceso no se conoce aquí. Elimínela de su dispositivo e inicie sesión " +
					"con otra o de otra forma.",
				UserChanged: "Mientras tanto se inició o se cerró su sesión. Inténtelo de nuevo.",
				Cloned: "Puede que esta llave de acceso se haya copiado, así que se ha rechazado. Inicie sesión " +
					"de otra forma y sustitúyala.",
				BadAnswer: "No se pudo leer la respuesta del navegador. Inténtelo de nuevo o use otro navegador.",
				Refused: "Esta llave de acceso no se ha aceptado. Inténtelo de nuevo o inicie sesión de otra " +
					"forma.",
				TooMany:      "Ha habido demasiados intentos. Espere un poco.",
				NotUsed:      "No se ha usado ninguna llave de acceso. Inténtelo de nuevo, o cree una si no tiene.",
				NotCreated:   "No se ha creado ninguna llave de acceso. Inténtelo de nuevo.",
				Exists:       "Este dispositivo ya tiene una llave de acceso para este sitio. Inicie sesión con ella.",
				WrongSite:    "Las llaves de acceso no funcionan en esta dirección del sitio.",
				NotSupported: "Este dispositivo no tiene llaves de acceso de un tipo que el sitio acepte.",
				Failed:       "No ha funcionado. Vuelva a cargar la página e inténtelo de nuevo.",
			},
		},
		VerifyRequest: VerifyRequest{
			LinkSent: "Se ha enviado un enlace para iniciar sesión a su dirección de correo.",
			CodeSent: "Se ha enviado a su dirección un correo con un enlace para iniciar sesión y un código de " +
				"seis cifras. Abra el enlace o escriba el código aquí.",
			Code: "Código",
			WrongCode: "Ese código no vale. Puede estar mal escrito, usado, ser demasiado antiguo o de otro " +
				"correo; se pueden probar cinco códigos. El enlace del correo sigue funcionando.",
			AskAgain: "Pedir otro correo",
		},
		ConfirmLink: ConfirmLink{
			Title: "¿Iniciar sesión?",
			Warning: "Este navegador no pidió el enlace para iniciar sesión. Continúe solo si lo pidió usted, en " +
				"otro dispositivo o en otro navegador.",
			Who:    "Iniciará sesión en {site} como {address}.",
			Button: "Iniciar sesión",
		},
		HeldAddress: HeldAddress{
			Title: "Esta dirección ya se usa",
			Text: "Ha demostrado que {address} es suya. Un usuario de este sitio ya tiene la dirección y no lo " +
				"ha demostrado.",
			IsYou: "Si ese usuario es usted, inicie sesión como lo ha hecho hasta ahora:",
			IsYouConfirms: "Si ese usuario es usted, inicie sesión como lo ha hecho hasta ahora y la dirección " +
				"quedará confirmada:",
			WithPasskey:    "Iniciar sesión con una llave de acceso",
			WithPassword:   "Iniciar sesión con una contraseña",
			WithPasswordOf: "Iniciar sesión con una contraseña ({provider})",
			OtherWays:      "Otras formas de iniciar sesión",
			NotOffered:     "{provider} (ya no se ofrece aquí)",
			NotYou: "Si no es usted, o quiere empezar de nuevo, continúe como usuario nuevo. El otro usuario " +
				"conserva todo menos la dirección.",
			Afresh: "Empezar de nuevo",
		},
		SignOut: SignOut{
			Title:  "Cerrar sesión",
			Text:   "¿Seguro que quiere cerrar la sesión?",
			Button: "Cerrar sesión",
		},
		Failure: Failure{
			Title:       "Error",
			ServerTitle: "Algo no va bien aquí",
			Server:      "El problema es de este sitio, no de lo que usted ha hecho. Inténtelo de nuevo más tarde.",
			DeniedTitle: "Acceso denegado",
			Denied:      "No tiene permiso para iniciar sesión.",
			StoreTitle:  "No disponible",
			Store: "El sitio no puede hacerlo en este momento. No se ha iniciado ni cerrado ninguna sesión. " +
				"Inténtelo de nuevo en un momento.",
			NotFinished: "No se puede iniciar sesión",
			LinkInvalid: "El enlace para iniciar sesión ya no es válido. Puede que ya se haya usado o que haya " +
				"caducado.",
			Unavailable: "Esta forma de iniciar sesión no está disponible en este momento, así que no se terminó " +
				"de iniciar la sesión.",
			NoAddress: "En esta dirección no empieza ni termina ningún inicio de sesión.",
			TooLate: "Este inicio de sesión no se terminó. Puede que haya tardado demasiado, que ya se terminara " +
				"o que empezara en otro navegador.",
			Again:        "Para iniciar sesión, inténtelo de nuevo.",
			AgainAsOther: "Para iniciar sesión como otra persona, inténtelo de nuevo.",
		},
		Refused: Refused{
			Title:        "No es posible",
			TooManyTitle: "Demasiados intentos",
			TooMany:      "Ha habido demasiados intentos. Inténtelo de nuevo más tarde.",
			Wait: Span{
				Seconds: Plural{
					One:   "Puede intentarlo de nuevo en {n} segundo.",
					Other: "Puede intentarlo de nuevo en {n} segundos.",
				},
				Minutes: Plural{
					One:   "Puede intentarlo de nuevo en {n} minuto.",
					Other: "Puede intentarlo de nuevo en {n} minutos.",
				},
				Hours: Plural{
					One:   "Puede intentarlo de nuevo en {n} hora.",
					Other: "Puede intentarlo de nuevo en {n} horas.",
				},
			},
			ForeignTitle: "No viene de este sitio",
			Foreign: "La petición no viene de una página de este sitio. Vuelva atrás, cargue la página de nuevo " +
				"e inténtelo otra vez.",
			Busy:     "El sitio tiene mucho que hacer en este momento. Inténtelo de nuevo pronto.",
			TooLarge: "Lo que se envió es demasiado grande. Vuelva atrás e inténtelo con menos.",
			CannotSend: "Esta dirección se puede abrir, pero no se le puede enviar nada de esta forma. Vuelva " +
				"atrás e inténtelo de nuevo.",
			Impossible: "No se puede hacer nada con esta dirección. Vuelva atrás e inténtelo de nuevo.",
		},
		Mail: Mail{
			SignIn: MailedLink{
				Subject: "Inicio de sesión en {site}",
				Text:    "Iniciar sesión en {site}",
				Button:  "Iniciar sesión",
				Ignore:  "Si no pidió este correo, puede ignorarlo.",
			},
			TypeCode: "O escriba este código en el navegador en el que pidió el correo:",
			LinkValid: Span{
				Seconds: Plural{
					One:   "El enlace es válido durante {n} segundo.",
					Other: "El enlace es válido durante {n} segundos.",
				},
				Minutes: Plural{
					One:   "El enlace es válido durante {n} minuto.",
					Other: "El enlace es válido durante {n} minutos.",
				},
				Hours: Plural{
					One:   "El enlace es válido durante {n} hora.",
					Other: "El enlace es válido durante {n} horas.",
				},
			},
			BothValid: Span{
				Seconds: Plural{
					One:   "El enlace y el código son válidos durante {n} segundo.",
					Other: "El enlace y el código son válidos durante {n} segundos.",
				},
				Minutes: Plural{
					One:   "El enlace y el código son válidos durante {n} minuto.",
					Other: "El enlace y el código son válidos durante {n} minutos.",
				},
				Hours: Plural{
					One:   "El enlace y el código son válidos durante {n} hora.",
					Other: "El enlace y el código son válidos durante {n} horas.",
				},
			},
			AskedIn:        "El correo se pidió con: {browser}, {system}.",
			UnknownBrowser: "navegador desconocido",
			UnknownSystem:  "sistema desconocido",
			NeverAsk:       "Nunca pedimos este código. No se lo dé a nadie.",
			SignUp: MailedLink{
				Subject: "Su cuenta en {site}",
				Text:    "Abra el enlace para elegir la contraseña de su cuenta nueva en {site}.",
				Button:  "Elegir una contraseña",
				Ignore:  "Si no pidió este correo, puede ignorarlo. No se ha creado ninguna cuenta.",
			},
			SignUpKnown: MailedLink{
				Subject: "Su cuenta en {site}",
				Text: "Alguien, probablemente usted, pidió una cuenta nueva en {site} con esta dirección. Ya " +
					"tiene una. Con el enlace puede elegir una contraseña nueva.",
				Button: "Elegir una contraseña nueva",
				Ignore: "Si no pidió este correo, puede ignorarlo. No se ha cambiado nada.",
			},
			Reset: MailedLink{
				Subject: "Su contraseña en {site}",
				Text:    "Abra el enlace para elegir una contraseña nueva en {site}.",
				Button:  "Elegir una contraseña nueva",
				Ignore:  "Si no pidió este correo, puede ignorarlo. Su contraseña sigue siendo la misma.",
			},
			PasswordChanged: Notice{
				Subject: "Su contraseña en {site} se ha cambiado",
				Text: "La contraseña de su cuenta en {site} se ha cambiado. Su sesión se ha cerrado en todos los " +
					"demás sitios.",
				NotYou: "Si no fue usted, elija ahora una contraseña nueva en {site}.",
			},
			PasswordRemoved: Notice{
				Subject: "Su contraseña en {site} se ha eliminado",
				Text: "La contraseña de su cuenta en {site} se ha eliminado. Su sesión se ha cerrado en todos " +
					"los demás sitios.",
				NotYou: "Si no fue usted, inicie sesión ahora en {site} de otra forma y revise su cuenta.",
			},
		},
	}
}
