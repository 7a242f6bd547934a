/** The limits of a token as a condition on rows: the same as `domain/token-limits`, for lists. */
import type { TokenLimits } from '../../../domain/token-limits.ts'
import { isNameStart, startOfNames } from '../../../domain/token-limits.ts'
import type { Sql } from '../../sql.ts'
import { join, raw, sql } from '../../sql.ts'

/** Above every character that a repository's name can have. */
const afterNames = '~'

/** `repositoryId` is the column that has our id of the repository. */
export function inRepositories({ repositories }: TokenLimits, repositoryId: Sql): Sql {
  if (repositories === null) return raw('1 = 1')
  const fits = repositories.map(({ pattern, repositoryId: id }) => {
    if (!isNameStart(pattern)) return sql`repository.id = ${id ?? ''}`
    const start = startOfNames(pattern)
    return sql`(repository.name >= ${start} AND repository.name < ${start + afterNames})`
  })
  // Row by row: of an owner's repositories there may be thousands more than rows to look at.
  return sql`EXISTS (SELECT 1 FROM repository
    WHERE repository.id = ${repositoryId} AND (${join(fits, ' OR ')}))`
}

export function ofTypes({ types }: TokenLimits, type: Sql): Sql {
  return types === null ? raw('1 = 1') : sql`${type} IN (${join(types)})`
}
