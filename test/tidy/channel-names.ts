/**
 * The domain, the stores and the publisher use what a channel declares and name no channel.
 * Otherwise every new channel would have to be added there.
 */
import { findingOnLine, isTest, type Rule } from './source.ts'

const homes = ['src/domain/', 'src/stores/', 'src/outbox/']

/** The existing channels, and planned ones. */
const names = /\bgithub-(comment|status|check|label|review)\b|\b(telegram|slack|e-?mail)\b/i

export const channelsStayHome: Rule = (source) => {
  const isHome = homes.some((home) => source.path.startsWith(home))
  if (!isHome || isTest(source.path)) return []
  return source.text.split('\n').flatMap((line, index) => {
    const name = names.exec(line)?.[0]
    if (name === undefined) return []
    const message = `names ${name}; declare it (domain/outbox/channel-declaration.ts)`
    return [findingOnLine(source, index + 1, message)]
  })
}
