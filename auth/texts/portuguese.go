package texts

// Portuguese returns the Portuguese (as in Brazil) texts.
func Portuguese() Texts {
	return Texts{
		Language: "pt",
		Common: Common{
			SignIn:         "Entrar",
			SignInWith:     "Entrar com {provider}",
			Continue:       "Continuar",
			Cancel:         "Cancelar",
			SignedInAs:     "Você entrou como {person}.",
			NotSignedIn:    "Você não entrou.",
			Address:        "E-mail",
			AddressExample: "nome@exemplo.com",
			CheckMail:      "Veja seu e-mail",
			Credentials:    "credenciais",
		},
		SignIn: SignIn{
			Title:              "Entrar em {site}",
			Or:                 "ou",
			MailLink:           "Receber um link por e-mail",
			MailLinkBy:         "Receber um link por e-mail com {provider}",
			Passkey:            "Entrar com uma chave de acesso",
			CreatePasskey:      "Criar uma chave de acesso",
			PasskeyNeedsScript: "Para entrar com uma chave de acesso, ative o JavaScript.",
			Errors: SignInErrors{
				OtherAccount:     "Tente entrar com outra conta.",
				NotLinked:        "Para confirmar sua identidade, entre com a conta que você usou da primeira vez.",
				PasskeyNotLinked: "Entre como fez até agora. Depois você pode adicionar uma chave de acesso.",
				MailNotSent:      "Não foi possível enviar o e-mail.",
				AddressRefused: "Não foi possível enviar o e-mail. Confira o endereço e tente de novo. Se o " +
					"endereço estiver certo, nenhum e-mail pode ser enviado no momento.",
				Unavailable: "Esta forma de entrar não está disponível no momento. Tente de novo ou entre de " +
					"outra forma.",
				NoForm: "Nada foi feito: o formulário não veio deste navegador ou ficou aberto por tempo demais. " +
					"Tente de novo.",
				Credentials:     "Não foi possível entrar. Confira os dados que você digitou.",
				SessionRequired: "Entre para ver esta página.",
				TwoPeople: "Este navegador tinha sessões de duas pessoas ao mesmo tempo, por isso ninguém " +
					"entrou. As duas sessões terminaram. Entre de novo.",
				Unknown: "Não foi possível entrar.",
			},
		},
		Password: Password{
			Show:    "Mostrar a senha",
			Label:   "Senha",
			Current: "Senha atual",
			New:     "Nova senha",

			Forgotten:     "Esqueceu a senha?",
			CreateAccount: "Criar uma conta",
			StaySignedIn:  "Manter a sessão aberta",
			Rule: Plural{
				One:   "Pelo menos {n} caractere. Várias palavras fáceis de lembrar são uma boa escolha.",
				Other: "Pelo menos {n} caracteres. Várias palavras fáceis de lembrar são uma boa escolha.",
			},
			Wrong:        "O endereço ou a senha não está certo.",
			CurrentWrong: "Esta não é sua senha atual.",
			TooShort: Plural{
				One:   "Esta senha é curta demais. Ela deve ter pelo menos {n} caractere.",
				Other: "Esta senha é curta demais. Ela deve ter pelo menos {n} caracteres.",
			},
			TooLong: Plural{
				One:   "Esta senha é longa demais. Ela pode ter no máximo {n} caractere.",
				Other: "Esta senha é longa demais. Ela pode ter no máximo {n} caracteres.",
			},
			Common: "Muita gente usa esta senha, por isso ela é fácil de adivinhar. Escolha outra.",
			Personal: "Esta senha é feita do seu endereço, do seu nome ou do nome deste site, por isso é fácil " +
				"de adivinhar. Escolha outra.",
			Breached: "Esta senha foi encontrada entre senhas roubadas em outros lugares. Escolha outra.",
			NotText:  "Esta senha tem um caractere que não pode ser digitado de novo. Escolha outra, por favor.",
			Equal:    "Esta já é sua senha. Escolha outra.",
			SignUp: Form{
				Title:  "Criar uma conta",
				Text:   "Digite seu endereço de e-mail. Enviamos um link com o qual você depois escolhe uma senha.",
				Button: "Continuar",
			},
			Reset: Form{
				Title:  "Escolher uma nova senha",
				Text:   "Digite seu endereço de e-mail. Enviamos um link para escolher uma nova senha.",
				Button: "Receber um link por e-mail",
			},
			Choose: Form{
				Title:  "Escolher uma senha",
				Text:   "Você vai entrar em {site} com {address} e esta senha.",
				Button: "Salvar a senha",
			},
			Change: Form{
				Title:  "Mudar sua senha",
				Text:   "Suas sessões em todos os outros lugares serão encerradas.",
				Button: "Mudar a senha",
			},
			Remove: Form{
				Title: "Remover sua senha?",
				Text: "Você não poderá mais entrar em {site} com esta senha. Suas outras formas de entrar " +
					"continuam.",
				Button: "Remover a senha",
			},
			Sent: "Se {address} puder ser usado aqui, um e-mail com um link está a caminho. Abra o link neste " +
				"navegador, se puder.",
			LinkInvalid: "Este link não vale mais. Talvez já tenha sido usado ou seja antigo demais. Peça outro.",

			SignInAgain: "Para mudar isto, primeiro entre de novo.",
			None:        "Você não tem senha.",
			OnlyWay:     "A senha é sua única forma de entrar. Adicione outra primeiro.",
		},
		Passkeys: Passkeys{
			Title:       "Suas chaves de acesso",
			None:        "Você ainda não tem nenhuma.",
			Add:         "Adicionar uma chave de acesso",
			Unnamed:     "Chave de acesso",
			Created:     "Criada em {date}.",
			LastUsed:    "Usada pela última vez em {date}.",
			BackedUp:    "Com cópia de segurança.",
			Syncable:    "Pode ter cópia de segurança.",
			OneDevice:   "Só em um aparelho.",
			Name:        "Nome",
			Rename:      "Mudar o nome",
			Renamed:     "A chave de acesso tem um novo nome.",
			Remove:      "Remover",
			RemoveNamed: "Remover {name}",
			RemoveTitle: "Remover esta chave de acesso?",
			RemoveText:  "Você não poderá mais entrar em {site} com {name}.",
			Removed:     "A chave de acesso foi removida. Ela não serve mais para entrar aqui.",
			Errors: PasskeyErrors{
				OnlyWay:      "Esta é sua única forma de entrar. Adicione primeiro outra chave de acesso.",
				NotFound:     "Você não tem essa chave de acesso.",
				CannotChange: "Este site não pode mudar chaves de acesso.",
				BadName:      "Um nome deve ter de 1 a 64 caracteres que possam ser mostrados.",
				Unreadable:   "Não foi possível ler o formulário.",
				NotDone:      "Não funcionou. Tente de novo mais tarde.",
				Expired:      "O pedido demorou demais ou já foi respondido. Tente de novo.",
				Unknown: "Esta chave de acesso não é conhecida aqui. Remova-a do seu aparelho e entre com outra " +
					"ou de outra forma.",
				UserChanged: "Enquanto isso, sua sessão foi aberta ou encerrada. Tente de novo.",
				Cloned: "Esta chave de acesso pode ter sido copiada, por isso foi recusada. Entre de outra forma " +
					"e substitua-a.",
				BadAnswer:    "Não foi possível ler a resposta do navegador. Tente de novo ou use outro navegador.",
				Refused:      "Esta chave de acesso não foi aceita. Tente de novo ou entre de outra forma.",
				TooMany:      "Houve tentativas demais. Espere um pouco.",
				NotUsed:      "Nenhuma chave de acesso foi usada. Tente de novo, ou crie uma se não tiver.",
				NotCreated:   "Nenhuma chave de acesso foi criada. Tente de novo.",
				Exists:       "Este aparelho já tem uma chave de acesso para este site. Entre com ela.",
				WrongSite:    "Chaves de acesso não funcionam neste endereço do site.",
				NotSupported: "Este aparelho não tem chaves de acesso de um tipo que o site aceite.",
				Failed:       "Não funcionou. Recarregue a página e tente de novo.",
			},
		},
		VerifyRequest: VerifyRequest{
			LinkSent: "Um link para entrar foi enviado ao seu endereço de e-mail.",
			CodeSent: "Um e-mail com um link para entrar e um código de seis dígitos foi enviado ao seu " +
				"endereço. Abra o link ou digite o código aqui.",
			Code: "Código",
			WrongCode: "Esse código não vale. Talvez esteja errado, já usado, antigo demais ou seja de outro " +
				"e-mail; cinco códigos podem ser tentados. O link do e-mail continua valendo.",
			AskAgain: "Pedir outro e-mail",
		},
		ConfirmLink: ConfirmLink{
			Title: "Entrar?",
			Warning: "Este navegador não pediu o link para entrar. Continue só se você mesmo o pediu, em outro " +
				"aparelho ou em outro navegador.",
			Who:    "Você vai entrar em {site} como {address}.",
			Button: "Entrar",
		},
		HeldAddress: HeldAddress{
			Title:          "Este endereço já está em uso",
			Text:           "Você mostrou que {address} é seu. Um usuário deste site já tem o endereço e não mostrou isso.",
			IsYou:          "Se esse usuário é você, entre como fez até agora:",
			IsYouConfirms:  "Se esse usuário é você, entre como fez até agora, e o endereço será confirmado:",
			WithPasskey:    "Entrar com uma chave de acesso",
			WithPassword:   "Entrar com uma senha",
			WithPasswordOf: "Entrar com uma senha ({provider})",
			OtherWays:      "Outras formas de entrar",
			NotOffered:     "{provider} (não é mais oferecido aqui)",
			NotYou: "Se não é você, ou se quer começar de novo, continue como novo usuário. O outro usuário fica " +
				"com tudo, menos o endereço.",
			Afresh: "Começar de novo",
		},
		SignOut: SignOut{
			Title:  "Sair",
			Text:   "Quer mesmo sair?",
			Button: "Sair",
		},
		Failure: Failure{
			Title:       "Erro",
			ServerTitle: "Algo está errado aqui",
			Server:      "O problema é deste site, não do que você fez. Tente de novo mais tarde.",
			DeniedTitle: "Acesso negado",
			Denied:      "Você não tem permissão para entrar.",
			StoreTitle:  "Não disponível",
			Store: "O site não pode fazer isso no momento. Ninguém entrou nem saiu por causa disso. Tente de " +
				"novo em um instante.",
			NotFinished: "Não foi possível entrar",
			LinkInvalid: "O link para entrar não vale mais. Talvez já tenha sido usado ou tenha vencido.",
			Unavailable: "Esta forma de entrar não está disponível no momento, por isso a entrada não foi " +
				"concluída.",
			NoAddress: "Nenhuma entrada começa ou termina neste endereço.",
			TooLate: "Esta entrada não foi concluída. Talvez tenha demorado demais, já tenha sido concluída ou " +
				"tenha começado em outro navegador.",
			Again:        "Para entrar, tente de novo.",
			AgainAsOther: "Para entrar como outra pessoa, tente de novo.",
		},
		Refused: Refused{
			Title:        "Não é possível",
			TooManyTitle: "Tentativas demais",
			TooMany:      "Houve tentativas demais. Tente de novo mais tarde.",
			Wait: Span{
				Seconds: Plural{
					One:   "Você pode tentar de novo em {n} segundo.",
					Other: "Você pode tentar de novo em {n} segundos.",
				},
				Minutes: Plural{
					One:   "Você pode tentar de novo em {n} minuto.",
					Other: "Você pode tentar de novo em {n} minutos.",
				},
				Hours: Plural{
					One:   "Você pode tentar de novo em {n} hora.",
					Other: "Você pode tentar de novo em {n} horas.",
				},
			},
			ForeignTitle: "Não vem deste site",
			Foreign:      "O pedido não vem de uma página deste site. Volte, recarregue a página e tente de novo.",
			Busy:         "O site tem muito a fazer no momento. Tente de novo em breve.",
			TooLarge:     "O que foi enviado é grande demais. Volte e tente com menos.",
			CannotSend: "Este endereço pode ser aberto, mas nada pode ser enviado a ele desta forma. Volte e " +
				"tente de novo.",
			Impossible: "Nada pode ser feito com este endereço. Volte e tente de novo.",
		},
		Mail: Mail{
			SignIn: MailedLink{
				Subject: "Entrar em {site}",
				Text:    "Entrar em {site}",
				Button:  "Entrar",
				Ignore:  "Se você não pediu este e-mail, pode ignorá-lo.",
			},
			TypeCode: "Ou digite este código no navegador em que você pediu o e-mail:",
			LinkValid: Span{
				Seconds: Plural{
					One:   "O link vale por {n} segundo.",
					Other: "O link vale por {n} segundos.",
				},
				Minutes: Plural{
					One:   "O link vale por {n} minuto.",
					Other: "O link vale por {n} minutos.",
				},
				Hours: Plural{
					One:   "O link vale por {n} hora.",
					Other: "O link vale por {n} horas.",
				},
			},
			BothValid: Span{
				Seconds: Plural{
					One:   "O link e o código valem por {n} segundo.",
					Other: "O link e o código valem por {n} segundos.",
				},
				Minutes: Plural{
					One:   "O link e o código valem por {n} minuto.",
					Other: "O link e o código valem por {n} minutos.",
				},
				Hours: Plural{
					One:   "O link e o código valem por {n} hora.",
					Other: "O link e o código valem por {n} horas.",
				},
			},
			AskedIn:        "O e-mail foi pedido com: {browser}, {system}.",
			UnknownBrowser: "navegador desconhecido",
			UnknownSystem:  "sistema desconhecido",
			NeverAsk:       "Nunca pedimos este código. Não o dê a ninguém.",
			SignUp: MailedLink{
				Subject: "Sua conta em {site}",
				Text:    "Abra o link para escolher a senha da sua nova conta em {site}.",
				Button:  "Escolher uma senha",
				Ignore:  "Se você não pediu este e-mail, pode ignorá-lo. Nenhuma conta foi criada.",
			},
			SignUpKnown: MailedLink{
				Subject: "Sua conta em {site}",
				Text: "Alguém, provavelmente você, pediu uma nova conta em {site} com este endereço. Você já tem " +
					"uma. Com o link você pode escolher uma nova senha.",
				Button: "Escolher uma nova senha",
				Ignore: "Se você não pediu este e-mail, pode ignorá-lo. Nada foi mudado.",
			},
			Reset: MailedLink{
				Subject: "Sua senha em {site}",
				Text:    "Abra o link para escolher uma nova senha em {site}.",
				Button:  "Escolher uma nova senha",
				Ignore:  "Se você não pediu este e-mail, pode ignorá-lo. Sua senha continua a mesma.",
			},
			PasswordChanged: Notice{
				Subject: "Sua senha em {site} foi mudada",
				Text: "A senha da sua conta em {site} foi mudada. Suas sessões em todos os outros lugares foram " +
					"encerradas.",
				NotYou: "Se não foi você, escolha agora uma nova senha em {site}.",
			},
			PasswordRemoved: Notice{
				Subject: "Sua senha em {site} foi removida",
				Text: "A senha da sua conta em {site} foi removida. Suas sessões em todos os outros lugares " +
					"foram encerradas.",
				NotYou: "Se não foi você, entre agora em {site} de outra forma e veja sua conta.",
			},
		},
	}
}
