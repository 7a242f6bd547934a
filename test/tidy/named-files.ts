/** Rules about files that a text names: each must exist, so that no text outlives a rename. */
import { findingOnLine, type Rule, type Source } from './source.ts'

/**
 * In comments, names with an ending such as `claim.ts`. `files` are all paths of the repository.
 */
export function commentsNameFiles(files: readonly string[]): Rule {
  const names = new Set(files.map((path) => path.slice(path.lastIndexOf('/') + 1)))
  return (source) =>
    linesOf(source).flatMap(({ text, line }) => {
      const comment = /^\s*(?:\/\*\*?|\*|\/\/)(.*)/.exec(text)?.[1] ?? ''
      return [...comment.matchAll(/(?<![\w*.-])[a-z][\w/-]*\.(?:ts|mjs|sql)\b/g)]
        .map(([path]) => path)
        .filter((path) => !names.has(path.slice(path.lastIndexOf('/') + 1)))
        .map((path) => findingOnLine(source, line, missing(path)))
    })
}

/** On a page, paths that begin with a folder of `src` or `test`, such as `domain/claim`. */
export function pagesNameFiles(
  files: readonly string[],
): (page: Pick<Source, 'path' | 'text'>) => string[] {
  const inside = files.filter((path) => /^(src|test)\//.test(path))
  const folders = new Set(inside.flatMap((path) => path.split('/').slice(1, -1).slice(0, 1)))
  const paths = new RegExp(
    `(?<![\\w/.-])(?:src/|test/)?(?:${[...folders].join('|')})/[a-z0-9-]+(?:/[a-z0-9-]+)*`,
    'g',
  )
  return (page) =>
    linesOf(page).flatMap(({ text, line }) =>
      [...text.matchAll(paths)]
        .filter(
          ([path]) => !inside.some((file) => isNamed(file, path.replace(/^(src|test)\//, ''))),
        )
        .map(([path]) => findingOnLine(page, line, missing(path))),
    )
}

/** `path` is the file, its folder or its beginning: `chaos/storm` is `storm.test.ts` too. */
function isNamed(file: string, path: string): boolean {
  const at = file.indexOf(`/${path}`)
  return at !== -1 && /^([./-]|$)/.test(file.slice(at + 1 + path.length))
}

const linesOf = ({ text }: Pick<Source, 'text'>) =>
  text.split('\n').map((line, index) => ({ text: line, line: index + 1 }))

const missing = (path: string): string => `there is no file ${path}; name the one it has become`
