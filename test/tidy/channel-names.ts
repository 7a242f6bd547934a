/**
 * The domain, the stores and the publisher take what a channel declares of itself and name none: a
 * channel that is known by name there is one that a new channel has to be added to.
 */
import { findingOnLine, isTest, type Rule } from './source.ts'

const homes = ['src/domain/', 'src/stores/', 'src/outbox/']

/** Those there are, and those to come. */
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
