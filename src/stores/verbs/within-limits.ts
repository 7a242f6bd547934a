/** The limits of a token as a condition on rows: the same as `domain/token-limits`, for lists. */
import type { TokenLimits } from '../../domain/token-limits.ts'
import { isNameStart, startOfNames } from '../../domain/token-limits.ts'
import type { Sql } from '../sql.ts'
import { join, raw, sql } from '../sql.ts'

/** Above every character that a repository's name can have. */
const afterNames = '~'

/** `repositoryId` is the column that has our id of the repository. */
export function inRepositories({ repositories }: TokenLimits, repositoryId: Sql): Sql {
  if (repositories === null) return raw('1 = 1')
  const fits = repositories.map(({ pattern, repositoryId: id }) => {
    if (!isNameStart(pattern)) return sql`id = ${id ?? ''}`
    const start = startOfNames(pattern)
    return sql`(name >= ${start} AND name < ${start + afterNames})`
  })
  return sql`${repositoryId} IN (SELECT id FROM repository WHERE ${join(fits, ' OR ')})`
}

export function ofTypes({ types }: TokenLimits, type: Sql): Sql {
  return types === null ? raw('1 = 1') : sql`${type} IN (${join(types)})`
}
