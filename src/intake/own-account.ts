/** Whether an event was sent by the account we act as: what we did ourselves must start nothing. */
import type { OwnAccount } from '../github.ts'
import type { Sender } from './webhook-event.ts'

const botSuffix = /\[bot\]$/i

export function isOwn(sender: Sender | null, own: OwnAccount | null): boolean {
  if (sender === null || own === null) return false
  if (sender.id !== null && own.id !== null) return sender.id === own.id
  const login = sender.login.toLowerCase()
  const sameName = login.replace(botSuffix, '') === own.login.toLowerCase().replace(botSuffix, '')
  // A person may have the name of an App; an App is always a bot.
  const isBot = botSuffix.test(login) || sender.type === 'Bot'
  return sameName && isBot === (own.kind === 'app')
}
