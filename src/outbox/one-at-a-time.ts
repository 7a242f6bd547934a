/**
 * Work that is done one piece at a time, in the order in which it came. What must hold: a piece
 * that fails holds up none of the others.
 */
export type OneAtATime = <T>(work: () => Promise<T>) => Promise<T>

export function createOneAtATime(): OneAtATime {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const done = last.then(work, work)
    last = done
    return done
  }
}
